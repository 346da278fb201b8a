"""What is shown of a running fetch, and how often that changes."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import operator_objects
from foreign_answers import answering, head, in_pieces
from operator_objects import NOW, model, pod, with_deployment_status, world
from privatellm.api.llm_instance import InstanceCondition
from privatellm.conditions import find
from privatellm_operator.fetches import (
    LONGEST_ANSWER,
    LONGEST_TROUBLE,
    STEP_PERCENT,
    STEP_SECONDS,
    FetchProgress,
    ProgressBoard,
    ask_all,
    is_fetching,
    is_worth_a_write,
    parse_progress,
)
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.status import Outcome, status_of
from privatellm_operator.render.source import model_path, source_digest

GIGABYTE = 10**9


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (FetchProgress(42 * GIGABYTE // 100, GIGABYTE, 85_000_000), "42 % of 1.0 GB at 85 MB/s"),
        (FetchProgress(5_000_000), "5 MB"),
        (FetchProgress(2 * GIGABYTE, GIGABYTE), "100 % of 1.0 GB"),
    ],
)
def test_progress_reads_like_a_sentence(progress: FetchProgress, text: str) -> None:
    """As much as is known, and never more than everything."""
    assert progress.text == text


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text() | st.integers(), st.lists))
def test_no_answer_of_a_pod_can_be_more_than_bounded_numbers(value: object) -> None:
    """It comes out of a tenant's namespace."""
    parsed = parse_progress({"bytes": value, "total_bytes": value, "bytes_per_second": value})
    assert parsed is None or len(parsed.text) < 60
    assert parse_progress(value) is None


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=50), st.integers(1, 5))
def test_writes_are_bounded_by_steps_of_percent_and_time(steps: list[int], pause: int) -> None:
    """Whatever a fetch does: at most one change for each 10 percent or 15 seconds."""
    board, now, shown = ProgressBoard(), NOW, []
    for done in sorted(steps):
        if board.note("pod", FetchProgress(done, 1000), now):
            shown.append((done, now))
        now += timedelta(seconds=pause)
    for (earlier, at), (later, then) in pairwise(shown):
        is_step = (later - earlier) / 10 >= STEP_PERCENT
        assert is_step or (then - at).total_seconds() >= STEP_SECONDS


def test_the_same_progress_is_no_news_however_old_it_is() -> None:
    """A fetch that stands still writes nothing."""
    still = FetchProgress(1, 100)
    assert not is_worth_a_write(still, still, 10**6)


def test_trouble_is_news_at_once_and_so_is_its_end() -> None:
    """Whoever waits for the model is told; other words for it wait their turn."""
    calm, trouble = FetchProgress(1, 100), FetchProgress(1, 100, trouble="It is silent.")

    assert is_worth_a_write(calm, trouble, 0)
    assert is_worth_a_write(trouble, calm, 0)
    assert not is_worth_a_write(trouble, FetchProgress(1, 100, trouble="Silent still."), 0)


@given(st.text(min_size=1))
def test_no_trouble_of_a_pod_is_longer_than_a_condition_can_say(text: str) -> None:
    """It is cut, and what is no text is none."""
    told = parse_progress({"bytes": 1, "message": text * 1000})

    assert told is not None
    assert 0 < len(told.trouble) <= LONGEST_TROUBLE
    assert parse_progress({"bytes": 1, "message": [text]}) == FetchProgress(1)


def test_only_a_running_fetcher_with_an_address_is_asked() -> None:
    """The others have nothing to say."""
    running: dict[str, Any] = {"state": {"running": {}}}
    assert is_fetching(pod(init=running, podIP="10.0.0.1"), "fetch-model", "initContainerStatuses")
    assert not is_fetching(pod(init=running), "fetch-model", "initContainerStatuses")
    done = pod(init={"state": {"terminated": {"exitCode": 0}}}, podIP="10.0.0.1")
    assert not is_fetching(done, "fetch-model", "initContainerStatuses")


async def test_a_pod_that_does_not_answer_says_nothing() -> None:
    """A network that lets nobody ask costs a message, not a pass."""
    silent = pod(podIP="127.0.0.1")
    silent["metadata"]["uid"] = "u"
    assert await ask_all([silent], port=1) == {}


PROGRESS = b'{"bytes": 5000000, "total_bytes": 10000000, "bytes_per_second": 1000000}'


async def told(*pieces: bytes) -> dict[str, FetchProgress]:
    """Return what a fetcher says that answers in these pieces."""
    fetching = pod(podIP="127.0.0.1")
    fetching["metadata"]["uid"] = "u"
    async with answering(*pieces) as server:
        return await ask_all([fetching], server.port)


async def test_a_progress_that_arrives_in_pieces_is_taken_as_a_whole() -> None:
    """A network cuts where it likes."""
    assert await told(*in_pieces(PROGRESS)) == {"u": FetchProgress(5000000, 10000000, 1000000)}


ODD = {
    "nested deeper than anybody can follow": in_pieces(b"[" * 4000),
    "nested in the field that is read": in_pieces(b'{"bytes": ' * 380),
    "cut off": in_pieces(PROGRESS, sent=len(PROGRESS) - 1),
    "longer than any honest one": in_pieces(PROGRESS + b" " * LONGEST_ANSWER),
    "no JSON": in_pieces(b"<html><body>It works!</body></html>"),
    "no text": in_pieces(b"\xff" * 40),
    "a redirect": (head(0, "Location: http://127.0.0.1:1/", status="302 Found"),),
}


@pytest.mark.parametrize("pieces", ODD.values(), ids=ODD)
async def test_an_answer_that_makes_no_sense_says_nothing(pieces: tuple[bytes, ...]) -> None:
    """A pod of a tenant's namespace cannot end the leader with it."""
    assert await told(*pieces) == {}


def _model_available(seen: InstanceWorld) -> tuple[str, str]:
    status = status_of(seen, Outcome(), operator_objects.settings().public)
    found = find(status.conditions, InstanceCondition.MODEL_AVAILABLE)
    assert found is not None
    return found.reason, found.message


def test_a_server_of_other_bytes_than_recorded_is_told_with_both_digests() -> None:
    """It began before the record; it goes on, and somebody has to decide."""
    status = model().status.model_copy(
        update={"sha256": "a" * 64, "recorded_for": source_digest(model())}
    )
    served = model().model_copy(update={"status": status})
    report = f'{{"sha256": "{"b" * 64}", "sizeBytes": 1}}'
    strange = pod(init={"state": {"terminated": {"exitCode": 0, "message": report}}})
    strange["spec"] = {"initContainers": [{"args": ["--output", model_path(served)]}]}
    live = with_deployment_status(
        operator_objects.children(operator_objects.facts(served=served)),
        **operator_objects.rolled_out(1),
    )
    seen = world(served=served, live=live, pods=[strange])

    reason, message = _model_available(seen)

    assert reason == "ChecksumMismatch"
    assert "a" * 64 in message
    assert "b" * 64 in message
    assert status_of(seen, Outcome(), operator_objects.settings().public).phase == "Degraded"
