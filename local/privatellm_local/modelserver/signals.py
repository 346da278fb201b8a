"""Stop signals that can be waited for beside a C++ server.

The kernel may deliver a signal to any thread, also to one of llama.cpp's. Python then only sets a
flag, and a main thread that sleeps in a lock never looks at it. The wake-up descriptor is written
from whatever thread received the signal, so waiting on it works in every case.
"""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def let_stop_signals_kill() -> None:
    """Let a stop signal end the process at once, which is right while there is nothing to drain."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)


class StopSignals:
    """The stop signals that arrived, in the order of their arrival."""

    def __init__(self, descriptor: int) -> None:
        """Read arrivals from the wake-up descriptor's other end."""
        self._descriptor = descriptor

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the next signal; false when the time is up first (None waits for ever)."""
        ready, _, _ = select.select([self._descriptor], [], [], timeout_seconds)
        return bool(ready and os.read(self._descriptor, 1))


@contextmanager
def caught_stop_signals() -> Iterator[StopSignals]:
    """Turn stop signals into arrivals that can be waited for, until the context ends."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    previous = {number: signal.signal(number, _leave_to_descriptor) for number in STOP_SIGNALS}
    previous_descriptor = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield StopSignals(reader)
    finally:
        signal.set_wakeup_fd(previous_descriptor)
        for number, handler in previous.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)


def _leave_to_descriptor(_number: int, _frame: object) -> None:
    """Do nothing: the wake-up descriptor carries the news."""
