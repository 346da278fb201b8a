"""Run asynchronous work so that Ctrl-C gives it the chance to clean up, once.

SIGTERM and SIGHUP mean the same as Ctrl-C: a closed terminal must not leave half an environment. A
SIGHUP that was ignored before us (``nohup``) stays ignored.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from privatellm.errors import PrivateLLMError

T = TypeVar("T")

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedByUserError(PrivateLLMError):
    """Somebody asked the command to stop, and it has cleaned up."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end.

    Raises:
        InterruptedByUserError: when a signal cancelled it and its cleaning up is done.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        for number in INTERRUPTS:
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, _cancel_once, task)
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError as error:
            raise InterruptedByUserError("Interrupted.") from error


def _cancel_once(task: "asyncio.Task[Any]") -> None:
    # A second Ctrl-C would interrupt the cleaning up, which is bounded in time anyway.
    if not task.cancelling():
        task.cancel()
