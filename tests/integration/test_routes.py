"""Names, labels and routes: each rule of the contract, seen from outside through real Traefik."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from customer import (
    MODEL,
    Credentials,
    ask_for_key,
    instance,
    order,
    until_condition,
    until_phase,
    until_routed,
)
from eventually import eventually
from privatellm import labels
from privatellm.errors import RejectedError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import child_name, service_port_name, slug_of
from privatellm_local.platform.facts import SYSTEM_NAMESPACE
from privatellm_local.platform.rbac import tenant_binding

pytestmark = pytest.mark.integration

ROUTER = "traefik.ingress.kubernetes.io/router"
LONG = "c" * 253
NAMES = {
    "dots": "llama.3.2.chat",
    "leading digit": "1st",
    "one character": "x",
    "57 characters": "a" * 57,
    "63 characters": "b" * 63,
    "253 characters": LONG,
    "the shortened form of another name": child_name(LONG).removesuffix("-llama"),
}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A client outside the cluster."""
    async with httpx.AsyncClient(timeout=30) as connected:
        yield connected


@pytest.fixture
async def two_namespaces(client: KubeClient) -> AsyncIterator[tuple[str, str]]:
    """Onboarded namespaces of which one's name begins with the other's."""
    stem = f"acme-{secrets.token_hex(3)}"
    names = (stem, f"{stem}-prod")
    for name in names:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(kinds.NAMESPACE, manifest)
        await client.create(kinds.ROLE_BINDING, tenant_binding(name))
    yield names
    for name in names:
        await client.delete(kinds.NAMESPACE, name)


@pytest.fixture
async def another_model(client: KubeClient) -> AsyncIterator[str]:
    """The same weights under another name, so that an answer tells which server gave it."""
    known = await client.get(kinds.LLM_MODEL, MODEL)
    assert known is not None
    name = f"twin-{secrets.token_hex(3)}"
    await client.create(kinds.LLM_MODEL, known | {"metadata": {"name": name}})
    yield name
    await client.delete(kinds.LLM_MODEL, name)


async def _status_of(http: httpx.AsyncClient, credentials: Credentials, path: str = "") -> int:
    url = f"{credentials.base_url}/models" if not path else f"{credentials.url}{path}"
    return (await http.get(url, headers=credentials.headers)).status_code


async def _stopped(client: KubeClient, namespace: str, name: str, key: str = "") -> Credentials:
    await order(client, namespace, name, phase="Stopped", replicas=0)
    return await ask_for_key(client, namespace, key or name, name)


async def test_any_name_is_served_and_opens_with_its_own_key_only(
    client: KubeClient, namespace: str, http: httpx.AsyncClient
) -> None:
    """Every name has a route and children of its own, also two that a cut would make equal."""
    keys = await asyncio.gather(
        *(
            _stopped(client, namespace, name, f"key-{number}")
            for number, name in enumerate(NAMES.values())
        )
    )
    await asyncio.gather(*(until_routed(http, key) for key in keys))

    for kind, key in zip(NAMES, keys, strict=True):
        assert await _status_of(http, key) == 503, f"{kind}: a stopped instance answers 503"
    for key, other in zip(keys, (*keys[1:], keys[0]), strict=True):
        crossed = await http.get(f"{other.base_url}/models", headers=key.headers)
        assert crossed.json()["error"]["code"] == "wrong_instance"
    services = await client.list(kinds.SERVICE, namespace)
    assert len(services.items) == len(NAMES)


async def test_names_that_no_object_may_have_are_refused_with_a_sentence(
    client: KubeClient, namespace: str
) -> None:
    """Nothing is stored, so nothing loops."""
    for name in ("Upper", "under_score", "-dash", "d" * 254):
        with pytest.raises(RejectedError, match=r"metadata\.name"):
            await client.create(kinds.LLM_INSTANCE, instance(namespace, name))


async def test_namespaces_whose_names_join_alike_do_not_share_a_backend(
    client: KubeClient,
    two_namespaces: tuple[str, str],
    another_model: str,
    http: httpx.AsyncClient,
) -> None:
    """``acme``, ``prod-x`` and ``acme-prod``, ``x`` are one service key but for the port's name."""
    short, long = two_namespaces
    await asyncio.gather(
        order(client, short, "prod-x"), order(client, long, "x", model=another_model)
    )
    ours, theirs = await asyncio.gather(
        ask_for_key(client, short, "key", "prod-x"), ask_for_key(client, long, "key", "x")
    )
    await asyncio.gather(until_routed(http, ours), until_routed(http, theirs))

    for key, model in ((ours, MODEL), (theirs, another_model)) * 3:
        answer = await http.get(f"{key.base_url}/models", headers=key.headers)
        assert answer.status_code == 200, answer.text
        assert [entry["id"] for entry in answer.json()["data"]] == [model]


async def test_a_service_has_one_port_for_the_edge_with_a_name_of_its_own(
    client: KubeClient, namespace: str
) -> None:
    """The Ingress names that port; its name is derived from the UID."""
    ordered = await order(client, namespace, "ports", phase="Stopped", replicas=0)
    service = await client.get(kinds.SERVICE, "ports-llama", namespace)
    ingress = await client.get(kinds.INGRESS, "ports-llama", namespace)
    assert service is not None
    assert ingress is not None

    edge_port = service_port_name(slug_of(ordered["metadata"]["uid"]))
    assert {p["name"]: p["port"] for p in service["spec"]["ports"]} == {
        "http": 8000,
        edge_port: 8001,
    }
    (path,) = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["port"] == {"name": edge_port}


async def test_an_object_of_somebody_else_is_not_adopted_and_gets_no_route(
    client: KubeClient, namespace: str, http: httpx.AsyncClient, edge_url: str
) -> None:
    """The instance says so and leaves it alone; once the name is free, it is served."""
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "taken-llama", "namespace": namespace},
        "spec": {"ports": [{"port": 8001}]},
    }
    before = await client.create(kinds.SERVICE, foreign)
    failed = await order(client, namespace, "taken", phase="Failed", replicas=0)

    message = await until_condition(
        client, kinds.LLM_INSTANCE, namespace, "taken", "Accepted", "ChildConflict"
    )
    assert "Service taken-llama" in message
    after = await client.get(kinds.SERVICE, "taken-llama", namespace)
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    slug = slug_of(failed["metadata"]["uid"])
    assert (await http.get(f"{edge_url}/llm/{slug}/v1/models")).status_code == 404

    await client.delete(kinds.SERVICE, "taken-llama", namespace)
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "taken", "Stopped")
    key = await ask_for_key(client, namespace, "taken", "taken")
    await until_routed(http, key)
    assert await _status_of(http, key) == 503


SMUGGLED = {
    "no check": (kinds.INGRESS, {f"{ROUTER}.middlewares": ""}),
    "another entry point": (kinds.INGRESS, {f"{ROUTER}.entrypoints": "nowhere"}),
    "priority": (kinds.INGRESS, {f"{ROUTER}.priority": "9999"}),
    "a class": (kinds.INGRESS, {"kubernetes.io/ingress.class": "other"}),
    "TLS to the backend": (
        kinds.SERVICE,
        {"traefik.ingress.kubernetes.io/service.serversscheme": "https"},
    ),
}


@pytest.mark.parametrize("smuggled", SMUGGLED)
async def test_smuggled_annotations_are_removed_and_foreign_ones_stay(
    client: KubeClient, namespace: str, http: httpx.AsyncClient, smuggled: str
) -> None:
    """Whoever gets past admission changes the route for a moment and not for good."""
    kind, annotations = SMUGGLED[smuggled]
    key = await _stopped(client, namespace, "target")
    await until_routed(http, key)
    before = await _annotations(client, kind, namespace)
    note = {"example.com/team": "blue"}
    await client.patch(
        kind, "target-llama", namespace, {"metadata": {"annotations": annotations | note}}
    )

    async def repaired() -> bool:
        return await _annotations(client, kind, namespace) == before | note

    await eventually(repaired, within=20, what="the annotations of before and the tenant's note")

    async def guarded() -> bool:
        nobody = await http.get(f"{key.base_url}/models")
        return (nobody.status_code, await _status_of(http, key)) == (401, 503)

    await eventually(guarded, within=10, what="the route of before")


async def _annotations(client: KubeClient, kind: kinds.Kind, namespace: str) -> dict[str, str]:
    found = await client.get(kind, "target-llama", namespace)
    assert found is not None
    annotations: dict[str, str] = found["metadata"]["annotations"]
    return annotations


async def test_a_slug_comes_from_the_uid_and_not_from_metadata(
    client: KubeClient, namespace: str, http: httpx.AsyncClient
) -> None:
    """Claiming a neighbour's slug by label and annotation opens nothing."""
    victim = await _stopped(client, namespace, "victim")
    slug = victim.url.rpartition("/")[2]
    thief = instance(namespace, "thief", replicas=0)
    claims = {"llm.privatellms.msp/slug": slug, "slug": slug}
    thief["metadata"] |= {"labels": claims, "annotations": claims}
    await client.create(kinds.LLM_INSTANCE, thief)
    seen = await until_phase(client, kinds.LLM_INSTANCE, namespace, "thief", "Stopped")
    key = await ask_for_key(client, namespace, "thief", "thief")
    await until_routed(http, victim)

    assert seen["status"]["slug"] == slug_of(seen["metadata"]["uid"]) != slug
    answer = await http.get(f"{victim.base_url}/models", headers=key.headers)
    assert answer.status_code == 403


async def test_a_slug_is_a_whole_segment_of_the_path(
    client: KubeClient, namespace: str, http: httpx.AsyncClient
) -> None:
    """What only begins with it leads nowhere."""
    key = await _stopped(client, namespace, "segment")
    await until_routed(http, key)

    assert await _status_of(http, key, "/v1/models") == 503
    for path in ("x/v1/models", "-a/v1/models", "%2fv1/models", ".."):
        assert await _status_of(http, key, path) in {400, 403, 404}


async def test_middlewares_exist_once_and_out_of_the_tenants_reach(
    client: KubeClient, namespace: str
) -> None:
    """An order adds a router to Traefik and nothing else."""
    before = await _middleware_names(client, SYSTEM_NAMESPACE)
    await order(client, namespace, "plain", phase="Stopped", replicas=0)

    assert await _middleware_names(client, SYSTEM_NAMESPACE) == before
    assert await _middleware_names(client, namespace) == set()
    ingress = await client.get(kinds.INGRESS, "plain-llama", namespace)
    assert ingress is not None
    reference = ingress["metadata"]["annotations"][f"{ROUTER}.middlewares"]
    assert reference == f"{SYSTEM_NAMESPACE}_private-llm@kubernetescrd"


async def _middleware_names(client: KubeClient, namespace: str) -> set[str]:
    return {m["metadata"]["name"] for m in (await client.list(kinds.MIDDLEWARE, namespace)).items}


async def test_a_model_with_limits_of_its_own_is_held_to_them(
    client: KubeClient, namespace: str, http: httpx.AsyncClient
) -> None:
    """Its instances name a chain of their own; requests that follow each other get 429."""
    known = await client.get(kinds.LLM_MODEL, MODEL)
    assert known is not None
    name = f"slow-{secrets.token_hex(3)}"
    limited = known["spec"] | {"limits": {"requestsPerMinute": 2}}
    await client.create(kinds.LLM_MODEL, known | {"metadata": {"name": name}, "spec": limited})
    try:
        await order(client, namespace, "slow", phase="Stopped", replicas=0, model=name)
        key = await ask_for_key(client, namespace, "slow", "slow")

        async def limited_now() -> bool:
            return await _status_of(http, key) == 429

        await eventually(limited_now, within=20, what="429 Too Many Requests")
        ingress = await client.get(kinds.INGRESS, "slow-llama", namespace)
        assert ingress is not None
        reference = ingress["metadata"]["annotations"][f"{ROUTER}.middlewares"]
        assert reference == f"{SYSTEM_NAMESPACE}_private-llm-{name}@kubernetescrd"
    finally:
        await client.delete(kinds.LLM_MODEL, name)


async def test_children_carry_the_agreed_labels_and_one_owner(
    client: KubeClient, namespace: str
) -> None:
    """Every child can be found by label and goes with its instance."""
    ordered = await order(client, namespace, "chat", phase="Stopped", replicas=0)
    children: list[Manifest] = []
    for kind in (kinds.DEPLOYMENT, kinds.SERVICE, kinds.INGRESS, kinds.NETWORK_POLICY):
        found = await client.get(kind, "chat-llama", namespace)
        assert found is not None
        children.append(found)
    secret = await client.get(kinds.SECRET, "chat-llama-key", namespace)
    assert secret is not None

    for child in (*children, secret):
        metadata: dict[str, Any] = child["metadata"]
        (owner,) = metadata["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (ordered["metadata"]["uid"], True)
        assert {
            labels.NAME: labels.MODEL_SERVER,
            labels.INSTANCE: "chat",
            labels.LLM_INSTANCE: "chat",
            labels.PART_OF: labels.PART_OF_US,
            labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
        }.items() <= metadata["labels"].items()


async def test_a_deleted_instance_leaves_no_route_behind(
    client: KubeClient, namespace: str, http: httpx.AsyncClient
) -> None:
    """Its path is a 404 like any other, and an instance of the same name gets another one."""
    key = await _stopped(client, namespace, "brief")
    await until_routed(http, key)
    await client.delete(kinds.LLM_INSTANCE, "brief", namespace)

    async def gone() -> bool:
        return await _status_of(http, key) == 404

    await eventually(gone, within=60, what="404 for a deleted instance")
