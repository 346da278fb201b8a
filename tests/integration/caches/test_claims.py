"""Weights on claims: fetched once for each model and namespace, and freed after the last user."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cache_world import (
    add_model,
    claims_of,
    digest_of,
    directory_of,
    models_in,
    order,
    platform_settings,
    pods_of,
    until_gone,
)
from customer import READY_SECONDS, until_phase
from eventually import eventually
from fetcher_source import HttpSource
from privatellm import labels
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def claims(kubeconfig: Path) -> Iterator[None]:
    """A platform that keeps weights on claims and lets them come from this machine."""
    with platform_settings(
        kubeconfig,
        PRIVATE_LLM_CACHE_MODE="persistentVolumeClaim",
        PRIVATE_LLM_ALLOW_PRIVATE_SOURCES="true",
    ):
        yield


async def _ready(client: KubeClient, namespace: str, name: str) -> None:
    await until_phase(client, kinds.LLM_INSTANCE, namespace, name, "Ready")


async def _owners(client: KubeClient, namespace: str) -> list[list[str]]:
    claims = await claims_of(client, namespace)
    return [sorted(o["name"] for o in claim["metadata"]["ownerReferences"]) for claim in claims]


async def test_instances_of_a_namespace_share_one_fetch_and_the_last_one_frees_it(
    client: KubeClient, namespace: str, source: HttpSource
) -> None:
    """The second instance and a restarted server ask nobody."""
    model = await add_model(client, source.url, sha256=source.sha256)
    await order(client, namespace, "one", model)
    await _ready(client, namespace, "one")
    assert len(source.requests) == 1
    await order(client, namespace, "two", model)
    await _ready(client, namespace, "two")
    assert await _owners(client, namespace) == [["one", "two"]]
    [claim] = await claims_of(client, namespace)
    directory = await directory_of(client, claim)
    assert [digest_of(path) for path in models_in(directory)] == [source.sha256]

    [pod] = await pods_of(client, namespace, "two")
    await client.delete(kinds.POD, pod["metadata"]["name"], namespace)

    async def back() -> bool:
        pods = await pods_of(client, namespace, "two")
        ready = [c["ready"] for p in pods for c in p["status"].get("containerStatuses", ())]
        is_another = [p["metadata"]["uid"] for p in pods] != [pod["metadata"]["uid"]]
        return len(pods) == 1 and is_another and bool(ready) and all(ready)

    await eventually(back, within=READY_SECONDS, what="a server in the old one's place")
    assert len(source.requests) == 1, "one fetch for all of them"

    await client.delete(kinds.LLM_INSTANCE, "one", namespace)

    async def one_owner() -> bool:
        return await _owners(client, namespace) == [["two"]]

    await eventually(one_owner, within=READY_SECONDS, what="a claim with one owner")
    assert models_in(directory), "the other instance still uses it"

    await client.delete(kinds.LLM_INSTANCE, "two", namespace)
    await until_gone(client, kinds.PERSISTENT_VOLUME_CLAIM, namespace, claim["metadata"]["name"])
    await until_gone(client, kinds.PERSISTENT_VOLUME, None, claim["spec"]["volumeName"])
    assert models_in(directory) == []
    await client.delete(kinds.LLM_MODEL, model)


async def test_an_edited_source_moves_to_another_claim_and_never_serves_the_old_file(
    client: KubeClient, namespace: str, source: HttpSource
) -> None:
    """Even when the two addresses differ in their query alone, and nobody declared a digest."""
    model = await add_model(client, f"{source.url}?file=1")
    await order(client, namespace, "chat", model)
    await _ready(client, namespace, "chat")
    [old] = await claims_of(client, namespace)

    source.content += b"\0"
    source.etag = '"v2"'
    changed = {"spec": {"source": {"url": f"{source.url}?file=2"}}}
    await client.patch(kinds.LLM_MODEL, model, None, changed)
    await until_gone(client, kinds.PERSISTENT_VOLUME_CLAIM, namespace, old["metadata"]["name"])

    await _ready(client, namespace, "chat")
    [new] = await claims_of(client, namespace)
    directory = await directory_of(client, new)
    assert [digest_of(path) for path in models_in(directory)] == [source.sha256]
    [pod] = await pods_of(client, namespace, "chat")
    [volume] = [v for v in pod["spec"]["volumes"] if v["name"] == "models"]
    assert volume["persistentVolumeClaim"]["claimName"] == new["metadata"]["name"]
    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)
    await client.delete(kinds.LLM_MODEL, model)


async def test_a_claim_is_freed_when_its_only_user_chose_another_model(
    client: KubeClient, namespace: str, source: HttpSource
) -> None:
    """The owner lives, but not for this claim."""
    model = await add_model(client, source.url, sha256=source.sha256)
    await order(client, namespace, "chat", model, replicas=0)
    [claim] = await eventually(lambda: claims_of(client, namespace), what="a claim")

    patch = {"spec": {"model": "gemma-3-270m"}}
    await client.patch(kinds.LLM_INSTANCE, "chat", namespace, patch)

    name = claim["metadata"]["name"]
    await until_gone(client, kinds.PERSISTENT_VOLUME_CLAIM, namespace, name)
    [other] = await eventually(lambda: claims_of(client, namespace), what="another claim")
    assert other["metadata"]["labels"][labels.LLM_MODEL] == "gemma-3-270m"
    await client.delete(kinds.LLM_MODEL, model)
