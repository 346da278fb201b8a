"""How long-running work tells a person what it is doing.

The environment reports to this protocol and knows nothing about terminals; the command line brings
the implementations (a live display on a terminal, plain lines elsewhere).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

HEARTBEAT_SECONDS = 1.0
"""How often a display is told what it was told before; it decides how often to show it."""


class Progress(Protocol):
    """Receives what is being done, in order; one step is open at a time."""

    def begin(self, step: str) -> None:
        """Open a step, such as ``control plane``."""

    def update(self, detail: str) -> None:
        """Replace the detail of the open step, such as ``kube-apiserver: 312 of 1143 packages``."""

    def end(self, outcome: str = "") -> None:
        """Close the open step successfully, with an optional outcome worth reading."""

    def note(self, message: str) -> None:
        """Say one thing that stays on the screen."""

    def close(self) -> None:
        """Leave the screen to whoever writes next; a step that was open has not ended."""


class SilentProgress:
    """Says nothing; for tests and for callers that look at the result only."""

    def begin(self, step: str) -> None:
        """Ignore the step."""

    def update(self, detail: str) -> None:
        """Ignore the detail."""

    def end(self, outcome: str = "") -> None:
        """Ignore the outcome."""

    def note(self, message: str) -> None:
        """Ignore the message."""

    def close(self) -> None:
        """Nothing is on the screen."""


class Heartbeat:
    """Passes on what is being done, and the last of it again and again while nothing new happens.

    A step that waits knows what for and says so once; whoever reads a log still sees that it lives.

    Args:
        inner: Where everything goes.
        stage: Told the name of each step that begins.
    """

    def __init__(self, inner: Progress, stage: Callable[[str], None]) -> None:
        self._inner = inner
        self._stage = stage
        self._detail = ""

    def begin(self, step: str) -> None:
        """Open a step."""
        self._detail = "at work"
        self._stage(step)
        self._inner.begin(step)

    def update(self, detail: str) -> None:
        """Replace the detail, and remember it."""
        self._detail = detail
        self._inner.update(detail)

    def end(self, outcome: str = "") -> None:
        """Close the open step; there is nothing to repeat then."""
        self._detail = ""
        self._inner.end(outcome)

    def note(self, message: str) -> None:
        """Pass the message on."""
        self._inner.note(message)

    def close(self) -> None:
        """Leave the screen."""
        self._detail = ""
        self._inner.close()

    @asynccontextmanager
    async def beating(self) -> AsyncIterator[None]:
        """Repeat the last detail inside the block, once a second."""
        task = asyncio.create_task(self._repeat())
        try:
            yield
        finally:
            task.cancel()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if self._detail:
                self._inner.update(self._detail)
