"""What the platform records of a model, which fetches of its own it needs, and what it says."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from operator_objects import NOW, model, settings
from privatellm import labels
from privatellm.api.llm_model import LLMModel, LLMModelStatus, ModelCondition
from privatellm.conditions import Condition, find
from privatellm_operator.fetches import FetchProgress
from privatellm_operator.reconcile.instance.causes import Cause
from privatellm_operator.reconcile.model.decide import RETRY_SECONDS, JobsPlan, decide
from privatellm_operator.reconcile.model.facts import FetchJob, ModelWorld
from privatellm_operator.reconcile.model.gather import waits_since
from privatellm_operator.reconcile.model.reports import Report, parse_report
from privatellm_operator.reconcile.model.status import NAMED_USERS, status_of
from privatellm_operator.render import fetch_job
from privatellm_operator.render.source import source_digest, weights_of
from privatellm_operator.settings import CacheMode, CacheSettings, Settings

FIRST, LATER = "a" * 64, "b" * 64
NODES = CacheSettings(mode=CacheMode.HOST_PATH)
HTTP = {"url": "https://models.example/m.gguf"}
CLAIM = {"pvc": {"claimName": "c", "path": "f"}}


def before(seconds: float) -> datetime:
    """Return a moment before the pass."""
    return NOW - timedelta(seconds=seconds)


def job(served: LLMModel | None = None, **fields: Any) -> FetchJob:
    """Return a Job of the platform that runs, unless the test says otherwise."""
    given = {"name": "fetch", "uid": "u", "node": "", "weights": weights_of(served or model())}
    return FetchJob(**(given | fields))


def seen(served: LLMModel | None = None, *jobs: FetchJob, **fields: Any) -> ModelWorld:
    """Return a model that an instance runs."""
    given: dict[str, Any] = {
        "is_used": True,
        "users": ("acme/chat",),
        "is_run": True,
        "waiting": {},
        "now": NOW,
    }
    return ModelWorld(model=served or model(), jobs=jobs, **(given | fields))


def recorded(served: LLMModel, digest: str = FIRST) -> LLMModel:
    """Return the model after its first use."""
    status = LLMModelStatus(sha256=digest, size_bytes=1, recorded_for=source_digest(served))
    return served.model_copy(update={"status": status})


def nodes() -> Settings:
    """Return a platform with a cache on its nodes."""
    return settings(cache=NODES)


def condition(
    world: ModelWorld, kind: ModelCondition, cache: CacheSettings | None = None
) -> Condition:
    """Return one condition of a model."""
    found = find(status_of(world, cache or CacheSettings()).conditions, kind)
    assert found is not None
    return found


def test_the_first_report_is_recorded_with_the_source_that_it_is_about() -> None:
    """Size and digest, as the platform's own Job saw them."""
    ended = job(succeeded_at=NOW, report=Report(FIRST, 7))
    status = status_of(seen(model(), ended), CacheSettings())
    assert (status.sha256, status.size_bytes) == (FIRST, 7)
    assert status.recorded_for == source_digest(model())


def test_of_two_reports_the_earlier_one_counts() -> None:
    """Whatever the Jobs are called."""
    early = job(name="z", succeeded_at=before(9), report=Report(FIRST, 1))
    late = job(name="a", succeeded_at=NOW, report=Report(LATER, 1))
    assert status_of(seen(model(), late, early), CacheSettings()).sha256 == FIRST


def test_a_later_report_changes_no_record_and_is_told_with_both_digests() -> None:
    """A source that gives other bytes is an error, not news."""
    world = seen(recorded(model()), job(succeeded_at=NOW, report=Report(LATER, 1)))
    told = condition(world, ModelCondition.DIGEST_KNOWN)
    assert status_of(world, CacheSettings()).sha256 == FIRST
    assert (told.is_true, told.reason) == (False, "ChecksumMismatch")
    assert FIRST in told.message
    assert LATER in told.message


def test_a_report_on_another_source_is_not_recorded() -> None:
    """A Job of the old source may end after the source was edited."""
    old = job(weights="old", succeeded_at=NOW, report=Report(FIRST, 1))
    assert status_of(seen(model(), old), CacheSettings()).sha256 is None


def test_an_edited_source_forgets_the_record() -> None:
    """It is a first use again."""
    status = recorded(model()).status
    edited = model(source=HTTP).model_copy(update={"status": status})
    assert status_of(seen(edited), CacheSettings()).sha256 is None


def test_a_declared_digest_leaves_nothing_to_record() -> None:
    """Not even when a Job of a shared cache reports one."""
    declared = model(sha256=FIRST)
    world = seen(declared, job(declared, succeeded_at=NOW, report=Report(FIRST, 1)))
    assert status_of(world, NODES).sha256 is None
    assert condition(world, ModelCondition.DIGEST_KNOWN).reason == "Declared"


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (seen(is_run=False), "NotUsed"),
        (seen(), "Recording"),
        (seen(model(source=CLAIM)), "NotRecordable"),
        (seen(model(), job(cause=Cause("NotFound", "No such file."))), "NotFound"),
        (seen(recorded(model())), "Recorded"),
    ],
)
def test_a_digest_that_is_not_declared_says_where_it_stands(world: ModelWorld, reason: str) -> None:
    """Each state has a reason, and a failed fetch its own."""
    assert condition(world, ModelCondition.DIGEST_KNOWN).reason == reason


def test_a_first_use_is_one_job_that_keeps_nothing() -> None:
    """Its file lies in the pod and goes with it."""
    [created] = decide(seen(), settings()).create
    [volume] = [v for v in created["spec"]["template"]["spec"]["volumes"] if v["name"] == "models"]
    assert "emptyDir" in volume
    assert created["metadata"]["namespace"] == settings().pod.namespace


@pytest.mark.parametrize(
    "world",
    [
        seen(is_run=False),
        seen(model(sha256=FIRST)),
        seen(recorded(model())),
        seen(model(source=CLAIM)),
    ],
)
def test_nothing_is_fetched_that_nobody_needs_to_know(world: ModelWorld) -> None:
    """No use, a declared or recorded digest, or bytes that only the tenant has."""
    assert decide(world, settings()) == JobsPlan()


def test_a_job_is_created_once_and_goes_when_its_report_is_recorded() -> None:
    """Passes are idempotent, and a settled world has no Jobs."""
    assert decide(seen(model(), job()), settings()).create == ()
    known, ended = recorded(model()), job(succeeded_at=NOW, report=Report(FIRST, 1))
    plan = decide(seen(known, ended), settings())
    assert plan == JobsPlan(delete=(("fetch", "u"),))


def test_a_failed_job_is_tried_anew_after_a_while() -> None:
    """As long as somebody needs what it fetches."""
    fresh = decide(seen(model(), job(failed_at=before(1))), settings())
    assert (fresh.create, fresh.delete) == ((), ())
    stale = decide(seen(model(), job(failed_at=before(RETRY_SECONDS))), settings())
    assert stale.delete == (("fetch", "u"),)
    assert stale.create == (), "its name is free only when it is gone"


def test_a_job_for_another_source_goes_and_a_new_one_comes() -> None:
    """What it fetches is wanted by nobody."""
    plan = decide(seen(model(), job(weights="old")), settings())
    assert plan.delete == (("fetch", "u"),)
    assert len(plan.create) == 1


def test_a_pod_that_waits_on_a_node_gets_a_job_for_that_node() -> None:
    """It writes the node's directory, which tenants only read."""
    [created] = decide(seen(waiting={"node-1": before(10)}), nodes()).create
    pod = created["spec"]["template"]["spec"]
    assert created["metadata"]["annotations"][labels.NODE] == "node-1"
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    [field] = terms["nodeSelectorTerms"][0]["matchFields"]
    assert field["values"] == ["node-1"]
    [volume] = [v for v in pod["volumes"] if v["name"] == "models"]
    assert volume["hostPath"]["path"] == NODES.directory


def test_a_pod_that_just_started_is_given_time_to_find_the_weights() -> None:
    """On a node whose cache is filled nobody fetches anything."""
    plan = decide(seen(waiting={"node-1": before(0.5)}), nodes())
    assert plan.create == ()
    assert plan.look_again_after is not None


def test_a_pod_that_waits_since_the_jobs_end_needs_another_one() -> None:
    """The node's directory was emptied meanwhile."""
    old = job(node="node-1", succeeded_at=before(60))
    assert decide(seen(model(), old, waiting={"node-1": before(30)}), nodes()).delete
    fresh = job(node="node-1", succeeded_at=before(20))
    assert not decide(seen(model(), fresh, waiting={"node-1": before(30)}), nodes()).delete


def test_a_fetch_into_a_cache_says_how_it_goes() -> None:
    """Its failure is in words, because customers cannot look at the Job."""
    failing = seen(model(), job(node="n", cause=Cause("NotFound", "No such file.")))
    assert condition(failing, ModelCondition.FETCHABLE, NODES).message == "No such file."
    running = condition(seen(model(), job(node="n")), ModelCondition.FETCHABLE, NODES)
    assert running.reason == "Fetching"


def test_a_fetch_that_is_tried_again_says_why() -> None:
    """It goes on for minutes before it counts as failed, and who waits wants to know now."""
    held_up = FetchProgress(0, trouble="hub.example is silent.")
    told = condition(
        seen(model(), job(node="n", progress=held_up)), ModelCondition.FETCHABLE, NODES
    )

    assert (told.is_true, told.reason) == (False, "SourceFailing")
    assert told.message.endswith("hub.example is silent.")


def test_a_model_that_somebody_deleted_names_its_users_but_not_a_thousand() -> None:
    """The message is for people."""
    metadata = model().metadata.model_copy(update={"deletion_timestamp": NOW})
    leaving = model().model_copy(update={"metadata": metadata})
    users = tuple(f"acme/i{number:02}" for number in range(NAMED_USERS + 3))
    told = condition(seen(leaving, users=users), ModelCondition.REMOVABLE)
    assert "acme/i00" in told.message
    assert "and 3 more" in told.message


def test_only_the_platforms_job_gets_the_hubs_credential_and_only_for_a_hub() -> None:
    """A file in its pod, never an argument."""
    chosen = settings(cache=CacheSettings(mode=CacheMode.HOST_PATH, hub_token_secret="hub"))
    hub = fetch_job.build(model(), chosen, "n")["spec"]["template"]["spec"]
    other = fetch_job.build(model(source=HTTP), chosen, "n")["spec"]["template"]["spec"]
    assert any(v.get("secret", {}).get("secretName") == "hub" for v in hub["volumes"])
    assert "--hf-token-file" in hub["containers"][0]["args"]
    assert not any("secret" in v for v in other["volumes"])


def test_pods_of_a_job_do_not_pass_for_model_servers() -> None:
    """The controller of Jobs works for tenants as well, and may not make pods with our labels."""
    template = fetch_job.build(model(), settings())["spec"]["template"]
    assert not {labels.MANAGED_BY, labels.LLM_INSTANCE} & template["metadata"]["labels"].keys()


def test_a_job_is_held_to_what_was_recorded() -> None:
    """So the second node's cache cannot get other bytes than the first."""
    known = recorded(model())
    arguments = fetch_job.build(known, nodes(), "n")["spec"]["template"]["spec"]["containers"][0]
    assert FIRST in arguments["args"]


@pytest.mark.parametrize(
    "message",
    [
        "",
        "no",
        "[]",
        "[" * 4000,
        '{"sha256": ' * 4000,
        '{"sha256": "x", "sizeBytes": 1}',
        f'{{"sha256": "{FIRST}"}}',
        "{}",
    ],
)
def test_anything_else_is_no_report(message: str) -> None:
    """What cannot be read is not recorded."""
    assert list(parse_report(message)) == []


def _waiting_pod(**status: Any) -> dict[str, Any]:
    volume = {"name": "models", "hostPath": {"path": f"/srv/{weights_of(model())}"}}
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": "2026-11-30T08:59:00Z",
    }
    return {
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n", "volumes": [volume]},
        "status": {"conditions": [scheduled]} | status,
    }


def _init(**state: Any) -> dict[str, Any]:
    return {"initContainerStatuses": [{"name": "fetch-model", "state": state}]}


@pytest.mark.parametrize(
    ("pod", "waits"),
    [
        (_waiting_pod(), True),
        (_waiting_pod(**_init(running={"startedAt": "2026-11-30T08:59:30Z"})), True),
        (_waiting_pod(**_init(terminated={"exitCode": 0})), False),
        (_waiting_pod(phase="Failed"), False),
        (_waiting_pod() | {"spec": {}}, False),
    ],
)
def test_a_pod_waits_from_its_place_on_a_node_until_its_fetcher_is_done(
    pod: dict[str, Any], waits: bool
) -> None:
    """Also while the node cannot mount the directory that does not exist yet."""
    assert (waits_since(pod, weights_of(model())) is not None) == waits
