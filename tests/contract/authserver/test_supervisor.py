"""The supervisor with processes that misbehave: silent, mad, stubborn, or gone at once."""

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
import uvloop
from structlog.testing import capture_logs

from eventually import eventually
from privatellm_authserver import clocks
from privatellm_authserver.clocks import Uptime
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
async def supervised(
    *programs: str,
    hung_seconds: float = 1.0,
    stop_seconds: float = SOON,
    python: Callable[[int], str] = lambda _number: sys.executable,
    uptime: Uptime = clocks.uptime,
) -> AsyncIterator[Fleet]:
    """Supervise workers that run programs in place of the service.

    Args:
        programs: One for each worker.
        hung_seconds: Silence after which a worker is killed.
        stop_seconds: How long a worker may take to end.
        python: What runs a worker's program.
        uptime: The supervisor's clock.
    """

    def command(number: int, _listener: int, channel: int) -> Sequence[str]:
        return (python(number), "-c", PRELUDE + programs[number], str(channel))

    fleet = Fleet(len(programs))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        supervisor = Supervisor(
            fleet,
            listener,
            command_for=command,
            hung_seconds=hung_seconds,
            stop_seconds=stop_seconds,
            uptime=uptime,
        )
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
        "import os\nif not os.fork(): channel.recv(1)",
    ],
    ids=["ends", "silent", "nonsense", "wrong type", "endless line", "half a line", "silent heir"],
)
async def test_a_worker_that_is_of_no_use_is_started_again(program: str) -> None:
    """Whatever it does instead of reporting."""
    async with supervised(program) as fleet:
        await until_restarted(fleet)

        assert fleet.why_not_ready(60.0)


def test_a_supervisor_that_was_frozen_blames_no_worker_for_it() -> None:
    """What they said meanwhile is read before anybody is called silent, and counts."""
    # The loop that it runs in: this one looks at the clock before it looks at what has come in.
    uvloop.run(outlive_a_freeze())


async def outlive_a_freeze() -> None:
    """Be frozen for longer than a worker may be silent, and go on with the same worker."""
    program = """
import itertools, select
for number in itertools.count(1):
    say(b'{"tokens": %d}' % number)
    if select.select([channel], [], [], 0.05)[0]:
        break
"""
    async with supervised(program, hung_seconds=2.0) as fleet:

        async def told(tokens: int) -> bool:
            report = fleet.workers[0].report
            return report is not None and report.tokens >= tokens

        await eventually(lambda: told(1), within=SOON, what="the first report")
        before = fleet.workers[0].restarts
        freeze(2.5)
        await eventually(lambda: told(30), within=SOON, what="reports from afterwards")

        assert fleet.workers[0].restarts == before


def freeze(seconds: float) -> None:
    """Let nothing run for so long, from where the kernel freezes a loop: its wait for what comes in."""
    frozen, trigger = socket.socketpair()
    loop = asyncio.get_running_loop()

    def block() -> None:
        loop.remove_reader(frozen)
        frozen.close()
        time.sleep(seconds)

    loop.add_reader(frozen, block)
    trigger.close()


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


async def test_a_worker_that_cannot_be_started_leaves_the_others_alone() -> None:
    """Nothing is used up by the attempts, and it is started when that can be done again."""
    talker = f"say({REPORT!r}); channel.recv(1)"
    interpreters = [sys.executable, "/nowhere/python"]
    async with supervised(
        talker, talker, hung_seconds=SOON, python=lambda number: interpreters[number]
    ) as fleet:

        async def tried(times: int) -> bool:
            return fleet.workers[0].report is not None and fleet.workers[1].restarts >= times

        await eventually(lambda: tried(1), within=SOON, what="the first attempt")
        before = descriptors()
        await eventually(lambda: tried(2), within=SOON, what="the second attempt")

        async def none_lost() -> bool:
            return descriptors() <= before

        await eventually(none_lost, within=SOON, what="the end of the second attempt's descriptors")
        interpreters[1] = sys.executable

        async def started() -> bool:
            return fleet.workers[1].report is not None

        await eventually(started, within=SOON, what="the second worker's report")
        assert fleet.workers[0].restarts == 0


def descriptors() -> int:
    """Count this process's descriptors."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_worker_that_does_not_end_when_it_is_told_to_is_killed() -> None:
    """Although it goes on reporting, so that nothing else is wrong with it."""
    program = f"while True: say({REPORT!r}); time.sleep(0.05)"
    with capture_logs() as lines:
        async with supervised(program, stop_seconds=0.2) as fleet:

            async def reported() -> bool:
                return fleet.workers[0].report is not None

            await eventually(reported, within=SOON)

    assert [line["why"] for line in lines] == ["It did not end when it was told to."]


@pytest.mark.parametrize(
    ("lived", "bounds"), [(59.0, (1.0, 2.0)), (61.0, (0.5, 0.5))], ids=["short", "settled"]
)
async def test_a_worker_that_ran_for_a_minute_is_started_again_as_if_for_the_first_time(
    lived: float, bounds: tuple[float, float]
) -> None:
    """What ended long ago says nothing about today; who ends again and again waits for longer."""
    with capture_logs() as lines:
        async with supervised("sys.exit(3)", uptime=count(step=lived).__next__) as fleet:
            await until_restarted(fleet, 2)

    waits = [line["restart_in"] for line in lines if line["event"] == "worker ended"]
    assert [bound / 2 <= wait <= bound for wait, bound in zip(waits, bounds, strict=True)] == [
        True,
        True,
    ]


@pytest.mark.parametrize("failures", [0, 1, 5, 10, 1000])
def test_the_wait_before_a_restart_grows_to_a_bound(failures: int) -> None:
    """A worker that cannot start must not keep a core busy."""
    bound = min(0.5 * 2.0 ** min(failures, 10), LONGEST_DELAY_SECONDS)

    assert bound / 2 <= restart_delay(failures) <= bound
