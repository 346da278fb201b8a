"""What must hold for every request that somebody throws at the edge."""

import re

from edge_route import Route
from edge_wire import Answer
from privatellm_authserver.paths import ALLOWED

IDENTITY = ("X-Private-Llm-Key-Id", "X-Private-Llm-Instance")
FORWARDED = ("X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Host")
REFUSED = {0, 400, 401, 403, 404, 405, 421, 431, 501}
"""Statuses of a refusal; 0 stands for a connection that was closed."""


def assert_harmless(route: Route) -> None:
    """Check that the backend was asked nothing that a key does not open, by nobody but us."""
    for seen in route.recorder.requests:
        method, path = seen.target
        assert (method.encode(), path.encode()) in ALLOWED, seen.request_line
        assert seen.values(IDENTITY[0]) == [route.key_id]
        assert seen.values(IDENTITY[1]) == [route.slug]
        (authorization,) = seen.values("Authorization")
        assert re.fullmatch(r"Bearer [0-9a-f]{64}", authorization)
        assert not seen.values("Upgrade")
        for name, value in seen.headers:
            assert route.credentials.api_key not in value, name
            folded = re.sub(r"[^a-z0-9]", "-", name.lower())
            assert folded not in map(str.lower, IDENTITY) or name in IDENTITY


def assert_refused(answer: Answer, route: Route) -> None:
    """Check that nothing at all reached the backend."""
    assert answer.status in REFUSED
    assert route.recorder.requests == []
