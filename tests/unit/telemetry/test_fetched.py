"""Fetches as pods tell of them: each is counted once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from privatellm.kube import Manifest
from privatellm_operator.observing.fetched import FetchLedger, FetchResult, ended_fetches
from telemetry_parts import server_pod

START = datetime(2026, 11, 30, 9, tzinfo=UTC)


def fetched_pod(
    message: str = "", *, exit_code: int = 0, minute: int = 1, **fields: Any
) -> Manifest:
    """Return a pod whose fetcher ran for half a minute."""
    ended = {
        "exitCode": exit_code,
        "startedAt": f"2026-11-30T09:{minute:02d}:00Z",
        "finishedAt": f"2026-11-30T09:{minute:02d}:30Z",
        "message": message,
    }
    status = {"name": "fetch-model", "state": {"terminated": ended}} | fields
    return server_pod(initContainerStatuses=[status])


@pytest.mark.parametrize(
    ("message", "result", "size"),
    [
        ('{"sizeBytes": 12, "present": false}', FetchResult.FETCHED, 12),
        ('{"sizeBytes": 12, "present": true}', FetchResult.PRESENT, 12),
        ("", FetchResult.FETCHED, 0),
        ("[]", FetchResult.FETCHED, 0),
        ("[" * 4000, FetchResult.FETCHED, 0),
        ('{"sizeBytes": ' * 4000, FetchResult.FETCHED, 0),
        ('{"sizeBytes": -1}', FetchResult.FETCHED, 0),
        ('{"sizeBytes": true, "present": 1}', FetchResult.FETCHED, 0),
        ('{"sizeBytes": 1e99}', FetchResult.FETCHED, 0),
    ],
)
def test_a_report_is_believed_within_bounds(message: str, result: FetchResult, size: int) -> None:
    """It comes out of a tenant's namespace."""
    (fetch,) = ended_fetches(fetched_pod(message))

    assert (fetch.result, fetch.size_bytes, fetch.seconds) == (result, size, 30.0)


def test_a_fetch_is_told_of_once() -> None:
    """However often its pod is looked at; a later attempt of the same pod is another one."""
    ledger = FetchLedger(START)
    failed = fetched_pod("", exit_code=1)
    earlier = failed["status"]["initContainerStatuses"][0]["state"]
    retried = fetched_pod("{}", minute=3, lastState=earlier)

    assert [fetch.result for fetch in ledger.news(failed)] == [FetchResult.FAILED]
    assert ledger.news(failed) == ()
    assert [fetch.result for fetch in ledger.news(retried)] == [FetchResult.FETCHED]
    assert ledger.news(retried) == ()


def test_what_ended_before_this_process_began_is_not_counted() -> None:
    """Another process counted it."""
    assert FetchLedger(START.replace(minute=2)).news(fetched_pod("{}")) == ()


def test_a_fetcher_that_runs_is_no_fetch_yet() -> None:
    pod = server_pod(initContainerStatuses=[{"name": "fetch-model", "state": {"running": {}}}])

    assert tuple(ended_fetches(pod)) == ()
