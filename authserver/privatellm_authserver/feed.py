"""Keeps the index equal to the verifiers in the token namespace: list, then watch, for ever.

A watch lasts 20 seconds by our own wish. That its server ends it in time, or sends anything before, is the
proof that nothing was missed, and the index is confirmed; an end before half of its time proves nothing,
and five seconds of further silence mean a half-open connection. A broken watch resumes where it stopped;
one that is too old (410) starts from a new list, built beside the index and swapped in whole. Nothing here
makes the index *trusted* after a failure: only a confirmation does, and the index itself says no when the
last one is too old.

The list is read page by page and taken in a few at a time, so that 100 000 verifiers neither exist
as dictionaries all at once nor keep a request waiting.
"""

import asyncio
import gc
import random
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Never

import structlog

from privatellm.errors import ExpiredError, MalformedVerifierError, PrivateLLMError
from privatellm.kube.client import KubeClient, WatchEvent
from privatellm.kube.kinds import SECRET
from privatellm_authserver import clocks
from privatellm_authserver.audit import RateLimit
from privatellm_authserver.clocks import Uptime
from privatellm_authserver.index import TokenIndex

WATCH_SECONDS: Final = 20
"""How long the server may keep a watch open; the client gives it five seconds more."""

PAGE: Final = 250
"""Verifiers a page of the list: one page decodes in about two milliseconds."""

SLICE: Final = 20
"""Verifiers taken in before requests get their turn again: about one millisecond."""

RECOVERY_SECONDS: Final = 3
"""How long the first watch after a failure lasts: that a connection opens proves nothing about what was
missed, so we ask for one that soon ends, and kube-apiserver sends a bookmark two seconds before that."""

REJECTIONS_LOGGED_PER_SECOND: Final = 1.0


class Backoff:
    """How long to wait after a failure: a random time below a bound that doubles up to a limit."""

    def __init__(self, first: float = 0.2, limit: float = 5.0) -> None:
        """Start small.

        Args:
            first: The first bound, in seconds.
            limit: The last bound, in seconds; well below the staleness that is tolerated.
        """
        self._first = first
        self._limit = limit
        self._bound = first

    def reset(self) -> None:
        """Note a success."""
        self._bound = self._first

    def next(self) -> float:
        """Return the seconds to wait after one more failure."""
        bound, self._bound = self._bound, min(self._bound * 2, self._limit)
        return bound * random.uniform(0.5, 1.0)  # noqa: S311 - jitter is no secret


@dataclass(slots=True)
class FeedHealth:
    """How the feed is doing.

    Attributes:
        relists: Times the whole list was read.
        failures: Times a list or watch failed.
        problem: What went wrong since the last confirmation; empty when nothing did.
        seconds_ahead: By how much our clock is ahead of the API server's; ``None`` before it was heard.
    """

    relists: int = 0
    failures: int = 0
    problem: str = ""
    seconds_ahead: float | None = None


class VerifierFeed:
    """Follows one namespace."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        index: TokenIndex,
        health: FeedHealth,
        *,
        watch_seconds: int = WATCH_SECONDS,
        backoff: Backoff | None = None,
        uptime: Uptime = clocks.uptime,
        on_confirmed: Callable[[], None] = lambda: None,
    ) -> None:
        """Put the parts together.

        Args:
            client: Where the verifiers are.
            namespace: The token namespace.
            index: What to keep current; nobody else writes to it.
            health: Where to note how it goes.
            watch_seconds: How long the server may keep one watch open.
            backoff: How long to wait after failures.
            uptime: The clock of staleness.
            on_confirmed: Called after every confirmation of the index.
        """
        self._client = client
        self._namespace = namespace
        self._index = index
        self._health = health
        self._watch_seconds = watch_seconds
        self._backoff = backoff or Backoff()
        self._uptime = uptime
        self._on_confirmed = on_confirmed
        self._version = ""
        self._rejections = RateLimit(REJECTIONS_LOGGED_PER_SECOND)
        self._log = structlog.stdlib.get_logger("privatellm.feed").bind(namespace=namespace)

    async def run(self) -> Never:
        """Follow the namespace until cancelled; failures of the API server are waited out."""
        while True:
            try:
                if not self._version:
                    await self._relist()
                settled = await self._watch()
            except ExpiredError:
                self._version = ""
                settled = False
                self._log.info("the watch is too old, listing again")
            except PrivateLLMError as error:
                settled = False
                self._doubt(str(error))
            if settled:
                self._backoff.reset()
            else:
                await asyncio.sleep(self._backoff.next())

    async def _relist(self) -> None:
        """Read all verifiers and swap them in."""
        started = self._uptime()
        snapshot = self._index.new_snapshot()
        version = ""
        async with aclosing(self._pages()) as pages:
            async for items, version in pages:  # noqa: B007 - the last page's version is the list's
                for start in range(0, len(items), SLICE):
                    for secret in items[start : start + SLICE]:
                        self._note(secret, snapshot.add(secret))
                    await asyncio.sleep(0)
        self._index.swap(snapshot, self._uptime())
        # Entries live long and hold no cycles. Walking 100 000 of them stops the process for 0.3 s, so the
        # cyclic collector is told to leave alone what is there now; reference counts still free it.
        gc.freeze()
        self._health.relists += 1
        self._version = version
        self._confirm(started)
        self._log.info("verifiers listed", tokens=self._index.tokens, rejected=self._index.rejected)

    async def _pages(self) -> AsyncGenerator[tuple[Sequence[Any], str], None]:
        query = {"limit": str(PAGE)}
        while True:
            page = await self._client.request("GET", SECRET.path(self._namespace), query=query)
            metadata = page["metadata"]
            yield page["items"], metadata["resourceVersion"]
            if not metadata.get("continue"):
                return
            query["continue"] = metadata["continue"]

    async def _watch(self) -> bool:
        """Take changes in until the watch ends; say whether it was worth its while."""
        seconds = RECOVERY_SECONDS if self._health.problem else self._watch_seconds
        started = self._uptime()
        lively = False
        events = self._client.watch(
            SECRET,
            self._namespace,
            resource_version=self._version,
            timeout_seconds=seconds,
        )
        async with aclosing(events) as stream:  # type: ignore[type-var]
            async for event in stream:
                self._take(event)
                lively = True
        ended = self._uptime()
        # Who ends every watch at once, without a word, may well have nothing behind it that could tell.
        worthwhile = lively or ended - started >= seconds / 2
        if worthwhile:
            self._confirm(ended)
        else:
            self._doubt("The API server, or what is in front of it, ended a watch at once.")
        return worthwhile

    def _take(self, event: WatchEvent) -> None:
        now = self._uptime()
        metadata = event.object["metadata"]
        if event.type == "DELETED":
            self._index.remove(metadata["name"], now)
        elif event.type in ("ADDED", "MODIFIED"):
            self._note(event.object, self._index.put(event.object, now))
        self._version = metadata["resourceVersion"]
        self._confirm(now)

    def _confirm(self, uptime: float) -> None:
        self._index.confirm(uptime)
        self._health.problem = ""
        self._health.seconds_ahead = self._client.seconds_ahead
        self._on_confirmed()

    def _doubt(self, problem: str) -> None:
        self._health.failures += 1
        self._health.problem = problem
        self._log.warning("no word from the API server", error=problem)

    def _note(self, secret: Any, refusal: MalformedVerifierError | None) -> None:
        if refusal is not None and self._rejections.admits(self._uptime()):
            self._log.warning(
                "a Secret in the token namespace is no verifier to be trusted",
                secret=secret["metadata"]["name"],
                why=str(refusal),
                suppressed=self._rejections.take_suppressed(),
            )
