"""Where weights are kept, what they are called, and what a recorded digest changes."""

import base64
from typing import Any

import pytest

from operator_objects import facts, instance_manifest, model, settings
from privatellm.api.llm_model import LLMModel
from privatellm_operator.render import cache, deployment, key_secret, network_policy
from privatellm_operator.render.source import model_path, recorded_digest, source_digest, weights_of
from privatellm_operator.settings import CacheMode, CacheSettings, PodSettings, Settings

DIGEST = "c" * 64
CLAIMS = CacheSettings(mode=CacheMode.CLAIM)
NODES = CacheSettings(mode=CacheMode.HOST_PATH, directory="/srv/models/")


def _recorded(served: LLMModel, sha256: str = DIGEST, recorded_for: str = "") -> LLMModel:
    status = served.status.model_copy(
        update={"sha256": sha256, "recorded_for": recorded_for or source_digest(served)}
    )
    return served.model_copy(update={"status": status})


def _pod(served: LLMModel, chosen: CacheSettings | None = None) -> dict[str, Any]:
    given = facts(served=served, chosen=settings(cache=chosen or CacheSettings()))
    pod: dict[str, Any] = deployment.build(given)["spec"]["template"]["spec"]
    return pod


def _volume(pod: dict[str, Any], name: str) -> dict[str, Any] | None:
    return next((volume for volume in pod["volumes"] if volume["name"] == name), None)


def _mount(container: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in container["volumeMounts"] if m["name"] == name)
    return found


@pytest.mark.parametrize(
    "change",
    [
        {"source": {"url": "https://example.com/m.gguf?file=2"}},
        {"sha256": "b" * 64},
    ],
)
def test_another_source_is_another_file(change: dict[str, Any]) -> None:
    """Even when the addresses differ in their query alone."""
    before = model(source={"url": "https://example.com/m.gguf?file=1"})
    after = model(**({"source": {"url": "https://example.com/m.gguf?file=1"}} | change))
    assert model_path(before) != model_path(after)


def test_two_models_of_one_source_have_their_own_weights() -> None:
    """Deleting one must not take the other's file."""
    assert weights_of(model("a")) != weights_of(model("b"))


@pytest.mark.parametrize("name", ["a" * 253, "1.5b", "gemma-3-270m"])
def test_names_of_weights_fit_everywhere(name: str) -> None:
    """A label value, a part of names of claims and Jobs, and a file name."""
    assert len(weights_of(model(name))) <= 43


def test_a_claim_is_named_after_the_weights_and_mounted_to_write_by_the_fetcher_alone() -> None:
    """The server reads."""
    pod = _pod(model(), CLAIMS)
    volume = _volume(pod, "models")
    assert volume is not None
    assert volume["persistentVolumeClaim"] == {"claimName": f"{weights_of(model())}-weights"}
    assert "readOnly" not in _mount(pod["initContainers"][0], "models")
    assert _mount(pod["containers"][0], "models")["readOnly"] is True


def test_pods_of_a_claim_for_one_node_stay_together() -> None:
    """A surge on another node could never mount it."""
    pod = _pod(model(), CLAIMS)
    [term] = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    given = facts(chosen=settings(cache=CLAIMS))
    labels = deployment.build(given)["spec"]["template"]["metadata"]["labels"]
    assert term["labelSelector"]["matchLabels"].items() <= labels.items()
    many = CacheSettings(mode=CacheMode.CLAIM, access_mode="ReadWriteMany")
    assert "affinity" not in _pod(model(), many)


def test_a_shared_claim_is_the_platforms() -> None:
    """The operator names it and makes none."""
    shared = CacheSettings(mode=CacheMode.CLAIM, claim="models")
    volume = _volume(_pod(model(), shared), "models")
    assert volume is not None
    assert volume["persistentVolumeClaim"] == {"claimName": "models"}
    assert not cache.has_own_claim(model(), shared)


def test_tenants_only_read_a_nodes_directory_and_only_their_models_part_of_it() -> None:
    """The fetcher waits for what the platform's Job brings."""
    pod = _pod(model(), NODES)
    volume = _volume(pod, "models")
    assert volume is not None
    path = f"/srv/models/{weights_of(model())}"
    assert volume["hostPath"] == {"path": path, "type": "Directory"}
    fetcher = pod["initContainers"][0]
    assert _mount(fetcher, "models")["readOnly"] is True
    assert "--wait" in fetcher["args"]


@pytest.mark.parametrize("chosen", [CLAIMS, NODES])
def test_a_model_on_a_tenants_claim_is_copied_in_every_mode(chosen: CacheSettings) -> None:
    """It is local already, and no Job of the platform could read it."""
    pod = _pod(model(source={"pvc": {"claimName": "c", "path": "f"}}), chosen)
    volume = _volume(pod, "models")
    assert volume is not None
    assert "emptyDir" in volume
    assert "--wait" not in pod["initContainers"][0]["args"]


def test_a_claim_is_owned_by_its_users_and_controlled_by_none() -> None:
    """Whoever goes last frees it; the order of the owners does not depend on who looked."""
    users = [instance_manifest(f"i{n}", uid=f"uid-{n}") for n in (2, 1)]
    claim = cache.claim(model(sizeBytes=2**30), CLAIMS, "acme", users)
    owners = claim["metadata"]["ownerReferences"]
    assert [owner["uid"] for owner in owners] == ["uid-1", "uid-2"]
    assert not any(owner.get("controller") for owner in owners)
    assert claim["spec"]["resources"]["requests"]["storage"] == "1191Mi"
    assert "storageClassName" not in claim["spec"], "the cluster's default class"


def test_recording_a_digest_rolls_no_pods_and_holds_the_next_fetch_to_it() -> None:
    """Running servers are not restarted because the platform learnt something."""
    fresh, known = model(), _recorded(model())
    assert deployment.build(facts(served=fresh)) == deployment.build(facts(served=known))

    pod = _pod(known)
    volume = _volume(pod, "expected-digest")
    assert volume is not None
    [item] = volume["secret"]["items"]
    stored = key_secret.build(facts(served=known))["data"]
    assert base64.b64decode(stored[item["key"]]).decode() == DIGEST
    assert item["key"] not in key_secret.build(facts(served=fresh))["data"]
    assert volume["secret"]["optional"] is True


def test_a_record_of_another_source_counts_for_nothing() -> None:
    """A changed source is used for the first time again."""
    stale = _recorded(model(), recorded_for="another")
    assert recorded_digest(stale) is None
    assert recorded_digest(_recorded(model())) == DIGEST


def test_a_declared_digest_needs_no_record() -> None:
    """It is an argument, so that editing it rolls the pods."""
    declared = model(sha256="a" * 64)
    assert recorded_digest(_recorded(declared)) is None
    assert _volume(_pod(declared), "expected-digest") is None


def test_the_operator_may_ask_a_fetch_for_its_progress() -> None:
    """From its own namespace, on the fetcher's port and no other."""
    chosen: Settings = settings(pod=PodSettings(namespace="platform"))
    rules = network_policy.build(facts(chosen=chosen))["spec"]["ingress"]
    [rule] = [rule for rule in rules if rule["ports"] == [{"protocol": "TCP", "port": 8002}]]
    [peer] = rule["from"]
    [expression] = peer["namespaceSelector"]["matchExpressions"]
    assert expression["values"] == ["platform"]
