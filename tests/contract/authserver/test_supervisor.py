"""The supervisor with processes that misbehave: silent, mad, stubborn, or gone at once."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from eventually import eventually
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.reports import Report
from privatellm_authserver.supervisor import LONGEST_DELAY_SECONDS, Supervisor, restart_delay

SOON = 20.0
PRELUDE = """
import socket, sys, time
channel = socket.socket(fileno=int(sys.argv[1]))
def say(line): channel.sendall(line + b"\\n")
"""
REPORT = Report(tokens=7).to_line().strip()


@asynccontextmanager
async def supervised(program: str, hung_seconds: float = 1.0) -> AsyncIterator[Fleet]:
    """Supervise one worker that runs a program in place of the service."""

    def command(_number: int, _listener: int, channel: int) -> Sequence[str]:
        return (sys.executable, "-c", PRELUDE + program, str(channel))

    fleet = Fleet(1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        supervisor = Supervisor(fleet, listener, command_for=command, hung_seconds=hung_seconds)
        running = asyncio.create_task(supervisor.run())
        try:
            yield fleet
        finally:
            supervisor.stop()
            await asyncio.wait_for(running, SOON)


async def until_restarted(fleet: Fleet, times: int = 1) -> None:
    async def restarted() -> bool:
        return fleet.workers[0].restarts >= times

    await eventually(restarted, within=SOON, what="a restart")


@pytest.mark.parametrize(
    "program",
    [
        "sys.exit(3)",
        "time.sleep(60)",
        "say(b'nonsense'); time.sleep(60)",
        'say(b\'{"tokens": "many"}\'); time.sleep(60)',
        "channel.sendall(b'x' * 5_000_000); time.sleep(60)",
        "channel.sendall(b'half a line'); sys.exit()",
    ],
    ids=["ends", "silent", "nonsense", "wrong type", "endless line", "half a line"],
)
async def test_a_worker_that_is_of_no_use_is_started_again(program: str) -> None:
    """Whatever it does instead of reporting."""
    async with supervised(program) as fleet:
        await until_restarted(fleet)

        assert fleet.why_not_ready(60.0)


async def test_what_a_worker_counted_survives_it() -> None:
    """Its last report counts, and the next process starts from zero."""
    counted = Report.model_validate({"totals": {"decisions": {"allowed": 2}}}).to_line().strip()
    async with supervised(f"say({counted!r})") as fleet:
        await until_restarted(fleet, 2)

        assert fleet.totals().decisions["allowed"] >= 4
        assert fleet.totals().decisions["allowed"] % 2 == 0


async def test_closing_the_channel_is_the_order_to_end() -> None:
    """A worker sees the end of its stream, says its last word, and is waited for."""
    last = Report(tokens=8).to_line().strip()
    program = f"say({REPORT!r}); channel.recv(1); say({last!r})"
    async with supervised(program, hung_seconds=30.0) as fleet:

        async def reported() -> bool:
            return fleet.workers[0].report is not None

        await eventually(reported, within=SOON)
        assert fleet.workers[0].report == Report(tokens=7)

    assert fleet.workers[0].report == Report(tokens=8)
    assert fleet.workers[0].restarts == 0


@pytest.mark.parametrize("failures", [0, 1, 5, 10, 1000])
def test_the_wait_before_a_restart_grows_to_a_bound(failures: int) -> None:
    """A worker that cannot start must not keep a core busy."""
    bound = min(0.5 * 2.0 ** min(failures, 10), LONGEST_DELAY_SECONDS)

    assert bound / 2 <= restart_delay(failures) <= bound
