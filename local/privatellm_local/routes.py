"""Does the edge know the way to every instance again?

After the definitions of the edge were made anew, the operator writes its middlewares again when it looks
next, some seconds later; until then the edge answers 404. Only the edge itself can say that this is over:
without a key a route answers 401. What the instance behind it does is not asked.
"""

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus

import httpx

from privatellm.api.llm_instance import InstanceCondition, LLMInstance
from privatellm.conditions import find
from privatellm.kube import KubeClient, Manifest, kinds

POLL_SECONDS = 0.25

REQUEST_SECONDS = 5.0
"""How long the edge may take to refuse a request."""

HEALING_REASONS = frozenset({"TraefikMissing", "MiddlewaresMissing"})
"""Why the operator has no route, when it makes one by itself as soon as the definitions are there."""


def expected(instances: Iterable[Manifest]) -> tuple[str, ...]:
    """Return the endpoints that the edge shall know: where a route is, or comes by itself."""
    return tuple(
        seen.status.endpoint
        for seen in map(LLMInstance.parse, instances)
        if seen.status.endpoint and _has_route(seen)
    )


async def wait_until_routed(client: KubeClient, waiting_for: Callable[[str], None]) -> None:
    """Wait until the edge answers something other than 404 for every instance that it shall know.

    Args:
        client: May list instances.
        waiting_for: Told which endpoints it does not know.

    Raises:
        KubernetesError: when the API server refuses, or goes away meanwhile.
    """
    async with httpx.AsyncClient(timeout=REQUEST_SECONDS, trust_env=False) as edge:
        # Asked again every time, because whoever deletes an instance must not make us wait for it.
        while missing := await unknown(edge, expected(await _instances(client))):
            waiting_for(", ".join(missing))
            await asyncio.sleep(POLL_SECONDS)


async def unknown(edge: httpx.AsyncClient, endpoints: Iterable[str]) -> tuple[str, ...]:
    """Return the endpoints that the edge does not know."""
    wanted = tuple(endpoints)
    are_known = await asyncio.gather(*(_is_known(edge, endpoint) for endpoint in wanted))
    return tuple(
        endpoint for endpoint, is_known in zip(wanted, are_known, strict=True) if not is_known
    )


async def _instances(client: KubeClient) -> tuple[Manifest, ...]:
    return (await client.list(kinds.LLM_INSTANCE)).items


def _has_route(instance: LLMInstance) -> bool:
    condition = find(instance.status.conditions, InstanceCondition.ROUTE_PROGRAMMED)
    return condition is not None and (condition.is_true or condition.reason in HEALING_REASONS)


async def _is_known(edge: httpx.AsyncClient, endpoint: str) -> bool:
    try:
        answer = await edge.get(f"{endpoint}/v1/models")
    except httpx.TransportError:
        return False
    return answer.status_code != HTTPStatus.NOT_FOUND
