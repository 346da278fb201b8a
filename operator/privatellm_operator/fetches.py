"""How far fetches are and what holds them up, without reading anybody's logs.

A fetcher tells its last progress on a port of its own (see ``fetcher.shown`` for the reason). A background
task asks the fetchers that run and keeps what it learnt, so that passes never wait for a pod. What is kept
changes only when it is worth a write: after 10 percent or 15 seconds.

The answers come out of tenants' namespaces. They are a few bounded values that are shown to that tenant
and decide nothing; what a fetcher says of its trouble is used of the platform's own Jobs alone.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import aiohttp

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest
from privatellm_operator import asking

STEP_PERCENT = 10.0
STEP_SECONDS = 15.0
ASK_SECONDS = 5.0
"""Pause between two rounds of questions."""

ANSWER_SECONDS = 2.0
"""How long a fetcher may take to answer."""

REMEMBERED_PODS = 5000
"""Pods whose progress is kept."""

LONGEST_ANSWER = 4096
LONGEST_TROUBLE = 500
"""Characters that are kept of what a fetcher says it is held up by."""

AT_ONCE = 50
"""Questions at the same time."""

_GIGABYTE = 10**9
_MEGABYTE = 10**6
_LARGEST = 10**15


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far a fetch is.

    Attributes:
        done: Bytes that are there.
        total: Bytes of the whole file; ``None`` when the source does not tell.
        speed: Bytes a second; ``None`` when that is not known.
        trouble: Why the last try failed, in a sentence; empty once bytes arrive.
    """

    done: int
    total: int | None = None
    speed: int | None = None
    trouble: str = ""

    @property
    def percent(self) -> float | None:
        """Percentage, if the whole is known."""
        return min(100.0, 100 * self.done / self.total) if self.total else None

    @property
    def text(self) -> str:
        """The progress for people, such as ``42 % of 7.3 GB at 85 MB/s``."""
        known = self.percent is not None and self.total is not None
        amount = (
            f"{int(self.percent or 0)} % of {_size(self.total or 0)}" if known else _size(self.done)
        )
        return f"{amount} at {_size(self.speed)}/s" if self.speed else amount


def parse_progress(answer: object) -> FetchProgress | None:
    """Return what a fetcher said; ``None`` when it makes no sense."""
    if not isinstance(answer, dict):
        return None
    done, total, speed = (
        _count(answer.get(name)) for name in ("bytes", "total_bytes", "bytes_per_second")
    )
    message = answer.get("message")
    trouble = message[:LONGEST_TROUBLE] if isinstance(message, str) else ""
    return None if done is None else FetchProgress(done, total, speed, trouble)


def is_worth_a_write(
    before: FetchProgress | None, now: FetchProgress, seconds_between: float
) -> bool:
    """Say whether people should see a new progress.

    Args:
        before: What they see.
        now: What there is.
        seconds_between: Time since they saw a change.
    """
    if before is None or before == now:
        return before is None
    if bool(before.trouble) is not bool(now.trouble):
        return True
    known = before.percent is not None and now.percent is not None
    step = abs((now.percent or 0) - (before.percent or 0)) if known else 0.0
    return step >= STEP_PERCENT or seconds_between >= STEP_SECONDS


class ProgressBoard:
    """What people see of each running fetch, by the UID of its pod.

    It holds a bounded number of pods, so that nobody has to tell it when one is gone.
    """

    def __init__(self) -> None:
        self._shown: dict[str, tuple[FetchProgress, datetime]] = {}

    def get(self, pod_uid: str) -> FetchProgress | None:
        """Return what is shown of a pod's fetch."""
        shown = self._shown.get(pod_uid)
        return shown[0] if shown else None

    def note(self, pod_uid: str, progress: FetchProgress, now: datetime) -> bool:
        """Take note of a progress, and say whether it is now shown."""
        before, since = self._shown.get(pod_uid, (None, now))
        if not is_worth_a_write(before, progress, (now - since).total_seconds()):
            return False
        self._shown.pop(pod_uid, None)
        self._shown[pod_uid] = (progress, now)
        if len(self._shown) > REMEMBERED_PODS:
            # Dictionaries keep their order, so the first is the one that was silent the longest.
            del self._shown[next(iter(self._shown))]
        return True


def is_fetching(pod: Manifest, fetcher: str, field: str) -> bool:
    """Say whether a pod's fetcher runs and can be asked.

    Args:
        pod: The pod.
        fetcher: Name of the fetcher's container.
        field: Where its status is: ``initContainerStatuses`` or ``containerStatuses``.
    """
    status = pod.get("status") or {}
    statuses = status.get(field) or ()
    runs = any(s["name"] == fetcher and "running" in (s.get("state") or {}) for s in statuses)
    return runs and bool(status.get("podIP"))


async def ask_all(pods: Iterable[Manifest], port: int) -> dict[str, FetchProgress]:
    """Ask pods how far they are, and return the answers that make sense by the pod's UID."""
    limit = asyncio.Semaphore(AT_ONCE)
    async with asking.open_session(ANSWER_SECONDS) as session:
        answers = await asyncio.gather(*(_ask(session, limit, pod, port) for pod in pods))
    return {uid: progress for uid, progress in answers if progress is not None}


async def _ask(
    session: aiohttp.ClientSession, limit: asyncio.Semaphore, pod: Manifest, port: int
) -> tuple[str, FetchProgress | None]:
    uid, address = pod["metadata"]["uid"], pod["status"]["podIP"]
    try:
        async with limit:
            body = await asking.ask(session, asking.base_url(address, port), LONGEST_ANSWER)
        return uid, parse_progress(parse_json(body))
    except (asking.NoAnswerError, InvalidInputError):
        # A fetcher that just ended, or a network that lets nobody ask: then nothing is shown.
        return uid, None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _LARGEST else None


def _size(count: int) -> str:
    if count >= _GIGABYTE:
        return f"{count / _GIGABYTE:.1f} GB"
    return f"{count / _MEGABYTE:.0f} MB"
