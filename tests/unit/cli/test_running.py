import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from privatellm_cli.running import InterruptedByUserError, run


async def _value() -> int:
    return 7


def test_the_result_of_the_work_is_returned() -> None:
    """Without a signal nothing is special."""
    assert run(_value()) == 7


@pytest.fixture
def heeded_hangup() -> Iterator[None]:
    """Heed SIGHUP, also where the tests were started to outlive their terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("heeded_hangup")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_work_and_lets_it_clean_up(number: signal.Signals) -> None:
    """A second signal does not interrupt the cleaning up."""
    steps: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            os.kill(os.getpid(), number)
            await asyncio.sleep(0.01)
            steps.append("cleaned up")
            raise

    with pytest.raises(InterruptedByUserError):
        run(work())

    assert steps == ["cleaned up"]
