import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from privatellm_local import routes


def _instance(status: str, reason: str, endpoint: str | None = "http://e/llm/a") -> dict[str, Any]:
    condition = {"type": "RouteProgrammed", "status": status, "reason": reason, "message": ""}
    return {
        "metadata": {"name": "demo", "namespace": "demo", "generation": 1},
        "spec": {"model": "m"},
        "status": {"endpoint": endpoint, "conditions": [condition]},
    }


@pytest.mark.parametrize(
    ("instance", "is_expected"),
    [
        (_instance("True", "Programmed"), True),
        (_instance("False", "TraefikMissing"), True),
        (_instance("False", "MiddlewaresMissing"), True),
        (_instance("False", "NotAccepted"), False),
        (_instance("True", "Programmed", endpoint=None), False),
        (_instance("True", "Programmed") | {"status": {}}, False),
    ],
    ids=["routed", "no Traefik", "no middleware", "refused", "no endpoint", "not looked at"],
)
def test_a_route_is_waited_for_when_it_comes_by_itself(
    instance: dict[str, Any], is_expected: bool
) -> None:
    """An order that the operator refuses never gets one."""
    assert routes.expected([instance]) == (("http://e/llm/a",) if is_expected else ())


@asynccontextmanager
async def _edge(status: str) -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/llm/a"


@pytest.mark.parametrize(
    ("status", "is_known"),
    [("401 Unauthorized", True), ("503 Service Unavailable", True), ("404 Not Found", False)],
)
async def test_the_edge_knows_a_route_that_it_does_not_answer_with_404(
    status: str, is_known: bool
) -> None:
    """We have no key, and a stopped instance answers 503."""
    async with _edge(status) as endpoint, httpx.AsyncClient(trust_env=False) as edge:
        unknown = await routes.unknown(edge, [endpoint])

    assert unknown == (() if is_known else (endpoint,))


async def test_an_edge_that_is_not_there_knows_nothing() -> None:
    """It is asked again, as a restarted one soon answers."""
    async with _edge("401 Unauthorized") as endpoint:
        pass

    async with httpx.AsyncClient(trust_env=False) as edge:
        assert await routes.unknown(edge, [endpoint]) == (endpoint,)
