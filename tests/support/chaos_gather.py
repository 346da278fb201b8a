"""What an audit needs to know, gathered from the API server, from the kernel and from the edge.

Whoever decides about keys is asked directly, every replica of it, and through the edge as customers do: the
edge asks one replica for each request, and which one is its own affair.
"""

import asyncio
import base64
import os
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from unittest.mock import patch

import httpx

from chaos_audit import Answer, Snapshot, utc_now
from chaos_customers import Customers, Key, Orders
from chaos_parts import AUTHSERVER, OPERATOR, Parts
from privatellm import labels
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_local.platform.facts import (
    PLATFORM_KEY,
    SYSTEM_NAMESPACE,
    TOKEN_NAMESPACE,
    VERIFY_PORT,
)
from privatellm_operator.settings import Settings
from privatellm_operator.world.watched import CHILDREN, OURS

OWNERS = (kinds.REPLICA_SET, kinds.JOB)
ANSWER_SECONDS = 30.0


async def gather(
    client: KubeClient,
    parts: Parts,
    customers: Customers,
    acknowledged: Orders = frozenset(),
    others: tuple[Key, ...] = (),
) -> Snapshot:
    """Look at everything.

    Args:
        client: An administrator's client.
        parts: The processes of the environment.
        customers: Whose keys are known.
        acknowledged: The orders that must be there.
        others: Further keys.
    """
    instances, requests, models, owners, pods = await asyncio.gather(
        _items(client, kinds.LLM_INSTANCE),
        _items(client, kinds.API_TOKEN_REQUEST),
        _items(client, kinds.LLM_MODEL),
        _owners(client),
        _items(client, kinds.POD),
    )
    secrets, settings = await _items(client, kinds.SECRET), await settings_of(client)
    return Snapshot(
        now=utc_now(),
        settings=settings,
        platform_key=_platform_key(secrets),
        acknowledged=acknowledged,
        instances=instances,
        requests=requests,
        models=models,
        children=await _children(client),
        middlewares=_in(await _items(client, kinds.MIDDLEWARE, OURS), SYSTEM_NAMESPACE),
        verifiers=_in(secrets, TOKEN_NAMESPACE),
        secrets=secrets,
        owners=owners,
        pods=pods,
        pods_with_processes=frozenset(process.pod_uid for process in parts.processes()),
        pod_directories=parts.pod_directories(),
        answers=await what_is_said((*customers.all(), *others), _taking_part(pods)),
    )


async def settings_of(client: KubeClient) -> Settings:
    """Return the settings that the operator's Deployment gives it."""
    deployment = await client.get(kinds.DEPLOYMENT, OPERATOR, SYSTEM_NAMESPACE)
    assert deployment is not None
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    variables = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    with patch.dict(os.environ, variables, clear=True):
        return Settings.of_environment()


async def _items(client: KubeClient, kind: Kind, selector: str = "") -> tuple[Manifest, ...]:
    return (await client.list(kind, labels=selector)).items


async def _owners(client: KubeClient) -> frozenset[str]:
    listings = [await _items(client, kind) for kind in OWNERS]
    return frozenset(each["metadata"]["uid"] for items in listings for each in items)


async def _children(client: KubeClient) -> tuple[Manifest, ...]:
    listings = [await _items(client, watching.kind, OURS) for watching in CHILDREN]
    return tuple(
        each
        for items in listings
        for each in items
        if each["metadata"]["namespace"] not in (TOKEN_NAMESPACE, SYSTEM_NAMESPACE)
    )


def _in(secrets: Iterable[Manifest], namespace: str) -> tuple[Manifest, ...]:
    return tuple(each for each in secrets if each["metadata"]["namespace"] == namespace)


def _platform_key(secrets: Iterable[Manifest]) -> PlatformKey:
    found = next(each for each in secrets if each["metadata"]["name"] == PLATFORM_KEY)
    return PlatformKey.of(base64.b64decode(found["data"]["platform-key"]).decode())


async def authservers(client: KubeClient) -> tuple[str, ...]:
    """Return the addresses of the ForwardAuth service's replicas that take part."""
    return _taking_part(await _items(client, kinds.POD, f"{labels.NAME}={AUTHSERVER}"))


def _taking_part(pods: Iterable[Manifest]) -> tuple[str, ...]:
    return tuple(sorted(pod["status"]["podIP"] for pod in pods if _takes_part(pod)))


def _takes_part(pod: Manifest) -> bool:
    metadata = pod["metadata"]
    conditions = pod.get("status", {}).get("conditions") or ()
    is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    of_us = (metadata.get("labels") or {}).get(labels.NAME) == AUTHSERVER
    return of_us and is_ready and "deletionTimestamp" not in metadata


async def what_is_said(keys: tuple[Key, ...], replicas: tuple[str, ...]) -> tuple[Answer, ...]:
    """Ask the edge and every one of these replicas about every key.

    Raises:
        httpx.HTTPError: when one of them does not answer.
    """
    async with httpx.AsyncClient(trust_env=False, timeout=ANSWER_SECONDS) as http:
        asked = [partial(_ask_edge, http), *(partial(_ask_check, http, each) for each in replicas)]
        said = await asyncio.gather(*(_in_turn(ask, keys) for ask in asked))
    return tuple(answer for answers in said for answer in answers)


async def _in_turn(
    ask: Callable[[Key], Awaitable[Answer]], keys: tuple[Key, ...]
) -> tuple[Answer, ...]:
    return tuple([await ask(key) for key in keys])


async def _ask_edge(http: httpx.AsyncClient, key: Key) -> Answer:
    said = (await http.get(key.models, headers=key.headers)).status_code
    return Answer(key.name, key.is_live, said == httpx.codes.OK, "the edge", str(said))


async def _ask_check(http: httpx.AsyncClient, address: str, key: Key) -> Answer:
    """Ask a ForwardAuth service as Traefik does."""
    asked = httpx.URL(key.models)
    headers = key.headers | {
        "X-Forwarded-Method": "GET",
        "X-Forwarded-Proto": asked.scheme,
        "X-Forwarded-Host": asked.netloc.decode(),
        "X-Forwarded-Uri": asked.path,
        "X-Forwarded-For": "127.0.0.1",
    }
    url = f"http://{address}:{VERIFY_PORT}/auth/verify"
    said = (await http.get(url, headers=headers)).status_code
    by = f"the ForwardAuth service at {address}"
    return Answer(key.name, key.is_live, said == httpx.codes.OK, by, str(said))
