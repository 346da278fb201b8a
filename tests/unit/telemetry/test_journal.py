"""What passes leave behind: a line when they change something, a trace of the order they belong to."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from operator_objects import UID, instance_manifest
from privatellm.errors import ConflictError
from privatellm.kube import Manifest, kinds
from privatellm.telemetry import passes
from privatellm.telemetry.passes import NotingClient, write_of
from privatellm.telemetry.tracing import SpanRecord, TraceIdentity, order_of
from privatellm_operator.metrics import Metrics
from privatellm_operator.observing.journal import Journal
from privatellm_operator.observing.revocations import Revocations
from privatellm_operator.queue import Key
from privatellm_operator.world.cache import World
from telemetry_parts import samples, server_pod

CREATED = datetime(2026, 11, 30, 8, tzinfo=UTC)
KEY = Key(kinds.LLM_INSTANCE, "acme", "chat")
LATER = "2026-11-30T08:00:{:02d}Z"


class Spans:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.begun: list[tuple[SpanRecord, TraceIdentity]] = []
        self.continued: list[tuple[SpanRecord, TraceIdentity]] = []

    def begin(self, span: SpanRecord, identity: TraceIdentity) -> None:
        """Keep a first span."""
        self.begun.append((span, identity))

    def continue_(self, span: SpanRecord, parent: TraceIdentity) -> None:
        """Keep a span."""
        self.continued.append((span, parent))

    def close(self) -> None:
        """Do nothing."""


class Passes:
    """A journal, the world it looks at, and passes that write into it."""

    def __init__(self, *, traced: bool = True) -> None:
        self.world, self.metrics, self.spans = World(), Metrics(), Spans()
        self.now = CREATED
        sink = self.spans if traced else None
        self.journal = Journal(self.world, self.metrics, lambda: self.now, sink)
        self.version = 100

    def put(self, **status: Any) -> None:
        """Store the instance, with a status if there is one."""
        self.version += 1
        manifest = instance_manifest()
        manifest["metadata"]["resourceVersion"] = str(self.version)
        self.world[kinds.LLM_INSTANCE].put(manifest | ({"status": status} if status else {}))

    def do(self, *changes: str, seconds: float = 1.0, **status: Any) -> None:
        """Do a pass that makes changes and ends with a status."""
        with self.journal.frame(KEY):
            with passes.step("gather"):
                pass
            for change in changes:
                with passes.step(change):
                    _current().changes.append(change)
            self.now += timedelta(seconds=seconds)
            if status:
                self.put(**status)

    def figures(self) -> dict[tuple[str, str], float]:
        """Return what is counted, by name and the value of its label."""
        return {
            (sample.name, next(iter(sample.labels.values()), "")): sample.value
            for sample in samples(self.metrics.text())
            if "le" not in sample.labels
        }


def _current() -> passes.PassRecord:
    record = passes._current.get()
    assert record is not None
    return record


def ready(reason: str = "Ready") -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "reason": reason}
    return {"phase": "Ready", "observedGeneration": 1, "conditions": [condition]}


def starting() -> dict[str, Any]:
    return {"phase": "Provisioning", "observedGeneration": 1, "conditions": []}


def started_pod() -> Manifest:
    fetched = {
        "exitCode": 0,
        "startedAt": LATER.format(2),
        "finishedAt": LATER.format(5),
        "message": '{"sizeBytes": 12, "present": false}',
    }
    pod = server_pod(
        conditions=[
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": LATER.format(1)},
            {"type": "Ready", "status": "True", "lastTransitionTime": LATER.format(9)},
        ],
        initContainerStatuses=[{"name": "fetch-model", "state": {"terminated": fetched}}],
        containerStatuses=[
            {"name": "llama-server", "state": {"running": {"startedAt": LATER.format(6)}}}
        ],
    )
    pod["metadata"]["creationTimestamp"] = LATER.format(0)
    return pod


def test_one_trace_leads_from_the_order_to_ready() -> None:
    """Over several passes, with their steps, and with what the pod waited for."""
    world = Passes()
    world.put()
    world.do("apply deployments", "apply services", **starting())
    world.world[kinds.POD].put(started_pod())
    world.do("apply llminstances/status", seconds=9.0, **ready())

    assert {parent for _, parent in world.spans.continued} == {TraceIdentity.of("order", UID, 1)}
    first, second = (span for span, _ in world.spans.continued)
    assert first.name == "pass LLMInstance"
    assert [step.name for step in first.children] == [
        "gather",
        "apply deployments",
        "apply services",
    ]
    [(order, identity)] = world.spans.begun
    assert identity == TraceIdentity.of("order", UID, 1)
    assert order.name == "order LLMInstance"
    assert order.began == int(CREATED.timestamp()) * 10**9
    assert order.ended - order.began == 10 * 10**9
    assert {span.name: (span.ended - span.began) // 10**9 for span in order.children} == {
        "schedule": 1,
        "fetch": 3,
        "load": 3,
    }
    assert second.began > 0


def test_time_to_ready_and_fetches_are_counted_without_traces_too() -> None:
    """Traces are for who wants them, metrics for everybody."""
    world = Passes(traced=False)
    world.put()
    world.do(**starting())
    world.world[kinds.POD].put(started_pod())
    world.do(seconds=9.0, **ready())
    world.do(seconds=60.0, **ready())

    counted = world.figures()
    assert counted["private_llm_time_to_ready_seconds_count", "created"] == 1
    assert counted["private_llm_time_to_ready_seconds_sum", "created"] == 10.0
    assert counted["private_llm_fetches_total", "fetched"] == 1
    assert counted["private_llm_fetch_bytes_total", ""] == 12
    assert counted["private_llm_fetch_seconds_sum", ""] == 3.0


@pytest.mark.parametrize(
    ("led_before", "counted"),
    [
        (CREATED + timedelta(minutes=1), 0),
        (CREATED + timedelta(seconds=4), 1),
        (None, 0),
    ],
    ids=["after the fetch", "before its end", "never"],
)
def test_a_new_leader_counts_the_fetches_that_ended_after_another_led(
    led_before: datetime | None, counted: int
) -> None:
    """However long it stood by; what ended before, the other one counted."""
    world = Passes()
    world.now += timedelta(days=3)
    world.put(**ready())
    world.world[kinds.POD].put(started_pod())

    world.journal.take_over(led_before)
    world.do()
    world.do()

    assert world.figures()["private_llm_fetches_total", "fetched"] == counted


def test_a_former_leader_whose_clock_was_ahead_keeps_no_fetch_from_being_counted() -> None:
    """What ends from the takeover on counts."""
    world = Passes()
    world.put(**ready())

    world.journal.take_over(CREATED + timedelta(days=1))
    world.world[kinds.POD].put(started_pod())
    world.do()

    assert world.figures()["private_llm_fetches_total", "fetched"] == 1


def test_a_key_whose_verifier_a_pass_removed_is_one_whose_end_is_measured() -> None:
    """From the request that removed it to the refusal that a pod tells of."""
    lags: list[float] = []
    revocations = Revocations("keys", lags.append)
    world = Passes()
    journal = Journal(world.world, world.metrics, lambda: world.now, None, revocations)

    with (
        journal.frame(KEY),
        passes.step(
            "delete secrets",
            **{"k8s.namespace.name": "keys", "private_llm.object.name": "v-abcdefghijkl"},
        ),
    ):
        pass
    revocations.hear("pod", {"abcdefghijkl": datetime.now(UTC)})

    assert len(lags) == 1


@pytest.mark.parametrize(
    "status",
    [
        starting(),
        ready("Rolling"),
        ready() | {"observedGeneration": 0},
        {"phase": "Stopped", "observedGeneration": 1},
    ],
    ids=["starting", "rolling", "of an earlier order", "stopped"],
)
def test_an_order_is_not_fulfilled_before_all_of_it_is_ready(status: dict[str, Any]) -> None:
    """And one that is stopped is none that somebody waits for."""
    world = Passes()
    world.put()

    world.do("apply deployments", **status)

    assert world.spans.begun == []
    assert ("private_llm_time_to_ready_seconds_count", "created") not in world.figures()


def test_an_instance_that_was_ready_before_this_process_is_not_measured() -> None:
    """Nobody knows how long it took."""
    world = Passes()
    world.put(**ready())

    world.do("apply deployments", **starting())
    world.do("apply llminstances/status", **ready())

    assert world.spans.begun == []


def test_a_pass_that_changes_nothing_leaves_no_word() -> None:
    """A settled world is silent, however often it is looked at."""
    world = Passes()
    world.put(**ready())

    with capture_logs() as lines:
        world.do()

    assert lines == []
    assert world.spans.continued == []


def test_a_pass_that_changes_something_is_one_line() -> None:
    """What, of which object, and how it was and is; with the id of its trace."""
    world = Passes()
    world.put(**starting())

    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        world.do("apply deployments chat-llama", "apply llminstances/status chat", **ready())

    [line] = [line for line in lines if line["event"] == "pass changed"]
    assert line["object"] == "LLMInstance acme/chat"
    assert line["changes"] == ["apply deployments chat-llama", "apply llminstances/status chat"]
    assert (line["was"], line["phase"]) == ("Provisioning", "Ready")
    assert line["trace_id"] == TraceIdentity.of("order", UID, 1).trace_hex


def test_a_pass_that_fails_is_told_with_the_step_that_failed() -> None:
    """As the queue sees it."""
    world = Passes()
    world.put()

    refusal = ConflictError("somebody else wrote", status=409, reason="Conflict")

    with world.journal.frame(KEY) as tell_failure:
        with pytest.raises(ConflictError), passes.step("apply services"):
            raise refusal
        tell_failure(refusal)

    [(span, _)] = world.spans.continued
    assert span.error == "ConflictError"
    assert [(step.name, step.error) for step in span.children] == [
        ("apply services", "ConflictError")
    ]


def test_the_open_order_of_an_object_that_is_gone_is_forgotten() -> None:
    world = Passes()
    world.put()
    gone = instance_manifest()
    gone["metadata"]["resourceVersion"] = "999"

    with world.journal.frame(KEY):
        world.world.observe(kinds.LLM_INSTANCE, "DELETED", gone)

    assert not world.journal._orders._open


def test_another_order_is_another_trace() -> None:
    """A changed spec has a new generation, and an object created anew a new UID."""
    first, again = instance_manifest(), instance_manifest(uid="another")
    changed = instance_manifest()
    changed["metadata"]["generation"] = 2

    assert len({order_of(one).trace_id for one in (first, again, changed)}) == 3


@pytest.mark.parametrize(
    ("method", "path", "body", "content", "expected"),
    [
        (
            *("PATCH", "/apis/apps/v1/namespaces/acme/deployments/chat-llama", {}),
            *("application/apply-patch+yaml", ("apply", "deployments", "acme", "chat-llama")),
        ),
        (
            *("POST", "/api/v1/namespaces/keys/secrets", {"metadata": {"name": "v-abc"}}),
            *("application/json", ("create", "secrets", "keys", "v-abc")),
        ),
        (
            *("PUT", "/apis/g/v1/namespaces/acme/apitokenrequests/x/status", {}),
            *("application/json", ("replace", "apitokenrequests/status", "acme", "x")),
        ),
        (
            *("PATCH", "/apis/g/v1/llmmodels/tiny", {}),
            *("application/merge-patch+json", ("patch", "llmmodels", "", "tiny")),
        ),
        (
            *("DELETE", "/api/v1/namespaces/acme/secrets/s", None),
            *("application/json", ("delete", "secrets", "acme", "s")),
        ),
    ],
)
def test_a_write_is_named_by_its_path(
    method: str, path: str, body: Any, content: str, expected: tuple[str, ...]
) -> None:
    """Its content is not looked at, but for the name of a new object."""
    write = write_of(method, path, body, content)

    assert (write.verb, write.resource, write.namespace, write.name) == expected


async def test_a_client_notes_the_writes_of_a_pass_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reads and trials change nothing, events are the telling itself, and outside of a pass is silence."""

    async def answer(*_arguments: Any, **_options: Mapping[str, Any]) -> Manifest:
        return {}

    monkeypatch.setattr("privatellm.kube.KubeClient.request", answer)
    client = NotingClient.__new__(NotingClient)
    writes = ("POST", "/api/v1/namespaces/acme/secrets")
    event = ("POST", "/apis/events.k8s.io/v1/namespaces/acme/events")

    with passes.recorded() as record:
        await client.request(*writes, query={"dryRun": "All"}, body={"metadata": {"name": "s"}})
        await client.request(*writes, body={"metadata": {"name": "s"}})
        await client.request(*event, body={"metadata": {"name": "e"}})
        await client.request("GET", writes[1])
    await client.request(*writes, body={"metadata": {"name": "s"}})

    assert record.changes == ["create secrets s"]
    assert [step.name for step in record.steps] == [
        "try to create secrets",
        "create secrets",
        "create events",
    ]
