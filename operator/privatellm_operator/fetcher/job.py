"""What every way of obtaining a file needs: the request, the files, and the tools of the process.

The tools (clock, pause, luck, resolver) are values, so that tests can be quick and exact without
replacing anything.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from privatellm_operator.fetcher.client import READ_TIMEOUT_SECONDS
from privatellm_operator.fetcher.errors import SizeMismatchError
from privatellm_operator.fetcher.progress import Log, Progress
from privatellm_operator.fetcher.request import FetchRequest
from privatellm_operator.fetcher.storage import PartialFile, check_space
from privatellm_operator.fetcher.transport import Resolver, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What a fetch uses of the world around it."""

    log: Log
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    pause: Callable[[float], None] = time.sleep
    luck: Callable[[], float] = random.random
    resolver: Resolver = resolve
    read_timeout_seconds: float = READ_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Job:
    """One fetch under way."""

    request: FetchRequest
    partial: PartialFile
    tools: Tools

    def progress(self, total: int | None) -> Progress:
        """Start a progress report; the declared length stands in for an unknown one."""
        return Progress(self.tools.log, self.tools.clock, total or self.request.size_bytes)

    def accept(self, total: int | None) -> None:
        """Check before the first byte that a file of this length is wanted and will fit.

        Args:
            total: length that the source offers, if it tells it.

        Raises:
            SizeMismatchError: another length is declared.
            InsufficientStorageError: there is no room for the bytes that are still missing.
        """
        declared = self.request.size_bytes
        if declared is not None and total is not None and total != declared:
            raise SizeMismatchError(
                f"{self.request.source.describe()} has {total} bytes, but the model declares "
                f"{declared}; correct sizeBytes or the source."
            )
        length = total if total is not None else declared
        if length is not None:
            check_space(self.request.output.parent, length - self.partial.size)

    def check_length(self, total: int | None) -> None:
        """Compare the length of what arrived with what was announced and declared.

        Raises:
            SizeMismatchError: they differ; the partial file is of no use then.
        """
        size = self.partial.size
        if any(wanted not in {None, size} for wanted in (total, self.request.size_bytes)):
            self.partial.discard()
            raise SizeMismatchError(
                f"{self.request.source.describe()} gave {size} bytes instead of "
                f"{total if total is not None else self.request.size_bytes}; correct sizeBytes "
                "or the source."
            )
