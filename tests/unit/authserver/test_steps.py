"""A decision costs the same with any number of keys, counted in steps and not in time."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from structlog.testing import capture_logs

from auth_world import NOW, UPTIME, Key, World, make_key, question_for
from privatellm_authserver.asgi import Scope, VerifyApp
from privatellm_authserver.audit import BURST_LINES, AuditLog
from privatellm_authserver.metrics import Meter

FEW, MANY = 10, 10_000
Step = tuple[str, str, int]
"""What happened, in which function, in which of its lines."""


@pytest.fixture(scope="module")
def keys() -> list[Key]:
    """All keys that anybody has here, and one that nobody has."""
    return [make_key(f"uid-{number // 10}") for number in range(MANY + 1)]


@pytest.fixture(scope="module")
def worlds(keys: list[Key]) -> dict[int, World]:
    """A world with few keys and one with many, as after a list."""
    return {count: world_of(keys[:count]) for count in (FEW, MANY)}


def world_of(keys: list[Key]) -> World:
    """Return a world that knows these keys."""
    world = World()
    snapshot = world.index.new_snapshot()
    for key in keys:
        assert snapshot.add(key.secret) is None
    world.index.swap(snapshot, UPTIME)
    return world


@contextmanager
def noted() -> Iterator[list[Step]]:
    """Note every line that is run and every function that is called, those written in C included."""
    steps: list[Step] = []

    def run(frame: FrameType, event: str, _argument: object) -> Any:
        steps.append((event, frame.f_code.co_qualname, frame.f_lineno))
        return run

    def called(frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call":
            steps.append((event, getattr(argument, "__qualname__", ""), frame.f_lineno))

    before = sys.gettrace(), sys.getprofile()
    # A collection in between would run what others want to do at one.
    gc.disable()
    sys.setprofile(called)
    sys.settrace(run)
    try:
        yield steps
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
        gc.enable()


def steps_of(world: World, key: Key) -> tuple[int, list[Step]]:
    """Return the status of an answer and the steps that led to it, from the request to the last byte.

    Some were asked before, so that no line of the audit log is due any more, as under load.
    """
    app = VerifyApp(
        world.reader, world.index, Meter(), AuditLog(), NOW.timestamp, uptime=lambda: UPTIME
    )
    headers = question_for(key)
    scope: Scope = {"type": "http", "path": "/auth/verify", "method": "GET", "headers": headers}
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    with capture_logs():
        for _ in range(BURST_LINES):
            asyncio.run(app(scope, receive, send))
    answer = app(scope, receive, send)
    # Nothing in it waits, so it ends without a loop, whose steps would be counted, too.
    with pytest.raises(StopIteration), noted() as steps:
        answer.send(None)
    return statuses[-2], steps


@pytest.mark.parametrize(("place", "status"), [(0, 200), (FEW - 1, 200), (MANY, 401)])
def test_a_decision_takes_the_same_steps_with_few_and_with_many_keys(
    worlds: dict[int, World], keys: list[Key], place: int, status: int
) -> None:
    """Whether the key is the first, the last of the few or unknown: what grows is only what is stored."""
    few, many = (steps_of(worlds[count], keys[place]) for count in (FEW, MANY))

    assert few[0] == status
    assert len(few[1]) > 30
    assert few == many


def test_the_last_of_many_keys_is_found_in_as_many_steps_as_the_first(
    worlds: dict[int, World], keys: list[Key]
) -> None:
    """No key is further away than another one."""
    assert steps_of(worlds[MANY], keys[0]) == steps_of(worlds[MANY], keys[MANY - 1])
