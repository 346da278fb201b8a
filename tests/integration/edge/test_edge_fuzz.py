"""Near misses of good requests, as raw bytes through real Traefik; a recording backend is the witness."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import thoroughness
from customer import Credentials, ask_for_key, order
from edge_mutations import Fields, mutations
from edge_route import Route
from edge_verdicts import REFUSED, assert_harmless
from privatellm.kube import KubeClient

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


ANSWERED = REFUSED | {200, 429, 503}
"""The other instance is stopped, and many examples use up a minute's quota."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def other(edge_client: KubeClient, edge_namespace: str) -> AsyncIterator[Credentials]:
    """The key of another instance, whose path leads elsewhere."""
    await order(edge_client, edge_namespace, "beside", phase="Stopped", replicas=0)
    yield await ask_for_key(edge_client, edge_namespace, "beside", "beside")


def honest(route: Route) -> Fields:
    """Return a request that the edge serves: method and target, and its headers."""
    texts = (
        ("GET", f"{route.path}/v1/models"),
        ("Host", route.authority),
        ("Authorization", f"Bearer {route.credentials.api_key}"),
    )
    return [(name.encode(), value.encode()) for name, value in texts]


def as_sent(fields: Fields) -> bytes:
    """Return the bytes of a request; whatever became the first field is its first line."""
    first, *headers = fields
    lines = [b"%s %s HTTP/1.1" % first, *(b"%s: %s" % header for header in headers)]
    return b"\r\n".join([*lines, b"", b""])


def words(route: Route, other: Credentials) -> list[bytes]:
    """Return values that mean something to the edge or to the check."""
    texts = (
        *(f"Bearer {key}" for key in (route.credentials.api_key, other.api_key, "x")),
        *(f"{route.path}{rest}" for rest in ("/v1/models", "/props", "/slots/0?action=erase")),
        *(f"{other.base_url}/models", f"{urlsplit(other.url).path}/v1/models"),
        *("GET", "POST", "OPTIONS", "close", "Authorization", "evil.example", ""),
    )
    return [text.encode() for text in texts]


@settings(
    max_examples=thoroughness.examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
async def test_no_near_miss_reaches_the_backend(
    route: Route, other: Credentials, data: st.DataObject
) -> None:
    """It is served with the whole key and as the check allows, or nothing of it passes."""
    route.recorder.requests.clear()
    fields = data.draw(mutations(honest(route), words(route, other)))
    # Nothing at all is no request: the edge would wait for one.
    assume(fields)
    sent = as_sent(fields)

    answer = await route.raw(sent)

    assert answer.status in ANSWERED
    assert_harmless(route)
    assert len(route.recorder.requests) == (answer.status == 200)
    assert answer.status != 200 or route.credentials.api_key.encode() in sent
