"""What passes of the agent leave behind: a line, and a part of the trace of the order that a copy is."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog
from structlog.testing import capture_logs

from privatellm.errors import RejectedError
from privatellm.telemetry import passes
from privatellm.telemetry.tracing import SpanRecord, TraceIdentity
from privatellm_sync_agent.engine.journal import Journal
from privatellm_sync_agent.engine.world import World
from privatellm_sync_agent.naming.names import Identity

OBJECT = Identity("1abc", "default", "chat")
COPY = {"metadata": {"uid": "uid-of-the-copy", "generation": 3}}
ORDER = TraceIdentity.of("order", "uid-of-the-copy", 3)


class Spans:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.written: list[tuple[SpanRecord, TraceIdentity]] = []

    def begin(self, _span: SpanRecord, _identity: TraceIdentity) -> None:
        """Begin no trace: that is the operator's."""
        raise AssertionError

    def continue_(self, span: SpanRecord, parent: TraceIdentity) -> None:
        """Keep a span."""
        self.written.append((span, parent))

    def close(self) -> None:
        """Do nothing."""


class Passes:
    """A journal over a world in which a copy may appear."""

    def __init__(self, *, traced: bool = True) -> None:
        self.copies: list[dict[str, Any]] = []
        self.spans = Spans()
        self.placed: dict[Identity, dict[str, Any]] = {}
        copies = SimpleNamespace(indexed=lambda _identity: self.copies)
        seen = SimpleNamespace(copies=copies, placed=self.placed)
        self.journal = Journal("instances", cast("World", seen), self.spans if traced else None)

    def do(self, *changes: str, error: Exception | None = None, delivered: bool = True) -> None:
        """Do a pass that makes a copy, which the watch may or may not have delivered by its end."""
        with self.journal.frame(OBJECT) as tell_failure:
            for change in changes:
                with passes.step(change):
                    record = passes._current.get()
                    assert record is not None
                    record.changes.append(change)
            self.placed[OBJECT] = COPY
            self.copies = [COPY] if delivered else []
            if error is not None:
                tell_failure(error)


@pytest.mark.parametrize("delivered", [True, False], ids=["watch was faster", "pass was faster"])
def test_the_pass_that_makes_a_copy_begins_its_part_of_the_orders_trace(delivered: bool) -> None:
    """The operator computes the same identity from the copy, which the watch may deliver later."""
    world = Passes()

    world.do("create llminstances x", delivered=delivered)

    [(span, parent)] = world.spans.written
    assert parent == ORDER
    assert (span.name, [step.name for step in span.children]) == ("sync", ["create llminstances x"])
    assert span.attributes == {
        "private_llm.object.name": "chat",
        "private_llm.resource": "instances",
        "private_llm.cluster": "1abc",
    }


def test_a_pass_that_changes_something_is_one_line_with_the_trace() -> None:
    """And one that changes nothing is none."""
    world = Passes()
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        world.do("create llminstances x", "patch llminstances x")
        world.do()

    [line] = lines
    assert line["event"] == "pass changed"
    assert (line["resource"], line["object"]) == ("instances", "1abc|default/chat")
    assert line["changes"] == ["create llminstances x", "patch llminstances x"]
    assert line["trace_id"] == ORDER.trace_hex
    assert len(world.spans.written) == 1


def test_what_a_pass_made_is_known_to_that_pass_alone() -> None:
    """The copy may be gone by the next one, and another one is another order."""
    world = Passes()
    world.do("create llminstances x", delivered=False)
    assert not world.placed

    with world.journal.frame(OBJECT) as tell_failure:
        tell_failure(RejectedError("no", status=422, reason="Invalid"))

    assert len(world.spans.written) == 1


def test_a_pass_that_fails_is_a_span_with_the_failure() -> None:
    world = Passes()

    world.do(error=RejectedError("no", status=422, reason="Invalid"))

    [(span, _)] = world.spans.written
    assert span.error == "RejectedError"


def test_without_traces_there_is_the_line_alone() -> None:
    world = Passes(traced=False)
    with capture_logs() as lines:
        world.do("create llminstances x")

    assert [line["event"] for line in lines] == ["pass changed"]
    assert "trace_id" not in lines[0]
