"""When a stopping model server may go: after it has finished what it has.

Neither llama-server nor xllamacpp finishes anything by itself when it is told to end: the first cuts its
streams, the second hangs. So the server keeps serving until its own metrics say that nothing is processed
and nothing waits. Between the acceptance of a request and its
first appearance in the metrics lies a moment (reading the body, tokenising), therefore one quiet
reading proves nothing: several in a row do.

The traffic itself is not stopped here. The pod is no endpoint any more once it is being deleted,
and a client that still holds a connection is served until the grace period is over.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass

from privatellm.errors import InvalidInputError

POLL_INTERVAL_SECONDS = 0.2
"""Time between two readings: short against a completion, long against reading the metrics."""

QUIET_READINGS = 3
"""Consecutive quiet readings that are taken as proof."""

_PROCESSING = "llamacpp:requests_processing"
_DEFERRED = "llamacpp:requests_deferred"


@dataclass(frozen=True, slots=True)
class Load:
    """What the server has in hand."""

    processing: int
    deferred: int

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is processed and nothing waits."""
        return self.processing == 0 and self.deferred == 0


class Outcome(enum.Enum):
    """Why the drain ended."""

    QUIET = "everything in hand is finished"
    GRACE_OVER = "the grace period is over"
    INSISTED = "a second signal asked to stop at once"


def parse_load(metrics: str) -> Load:
    """Read the load from the server's metrics in Prometheus text form.

    Raises:
        InvalidInputError: a gauge is missing. Without it the server could never be drained.
    """
    return Load(processing=_gauge(metrics, _PROCESSING), deferred=_gauge(metrics, _DEFERRED))


def _gauge(metrics: str, name: str) -> int:
    for line in metrics.splitlines():
        sample, _, value = line.partition(" ")
        if sample == name:
            return int(float(value))
    raise InvalidInputError(
        f"The model server's metrics hold no {name}, which draining needs; "
        "use a llama.cpp version that reports it."
    )


def drain(
    read_load: Callable[[], Load],
    wait: Callable[[float], bool],
    clock: Callable[[], float],
    grace_seconds: float,
) -> Outcome:
    """Wait until the server is quiet, the grace period is over or someone insists.

    Args:
        read_load: tells what the server has in hand.
        wait: pauses for that many seconds; true if a further signal arrived meanwhile.
        clock: monotonic seconds.
        grace_seconds: longest time to wait.
    """
    deadline = clock() + grace_seconds
    quiet = 0
    while True:
        quiet = quiet + 1 if read_load().is_quiet else 0
        if quiet == QUIET_READINGS:
            return Outcome.QUIET
        if clock() >= deadline:
            return Outcome.GRACE_OVER
        if wait(POLL_INTERVAL_SECONDS):
            return Outcome.INSISTED
