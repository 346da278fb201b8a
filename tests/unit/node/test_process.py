import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from eventually import eventually
from privatellm_local.node import leftovers
from privatellm_local.node.process import (
    Command,
    ContainerProcess,
    ExitStatus,
    ProcessStartError,
)

READY = "ready"


def command(tmp_path: Path, code: str, **environment: str) -> Command:
    argv = (sys.executable, "-c", code)
    return Command(argv, environment, tmp_path, tmp_path / "0.log")


async def says(tmp_path: Path, text: str) -> None:
    async def look() -> bool:
        return text in (tmp_path / "0.log").read_text()

    await eventually(look, what=f"{text!r} in the log")


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("return_code", "expected"),
    [(0, ExitStatus(0)), (7, ExitStatus(7)), (-9, ExitStatus(137, 9)), (-15, ExitStatus(143, 15))],
)
def test_a_signal_becomes_an_exit_code_as_in_a_shell(
    return_code: int, expected: ExitStatus
) -> None:
    """And is reported beside it."""
    assert expected == ExitStatus.of(return_code)


async def test_output_and_exit_code_of_a_process(tmp_path: Path) -> None:
    """Both streams go to one log, in the process's own directory and environment."""
    code = (
        "import os, sys; print(os.environ['A'], os.getcwd(), flush=True);"
        "print('to stderr', file=sys.stderr); sys.exit(3)"
    )

    process = await ContainerProcess.start(command(tmp_path, code, A="x"))

    assert await process.wait() == ExitStatus(3)
    assert (tmp_path / "0.log").read_text() == f"x {tmp_path}\nto stderr\n"
    assert (tmp_path / "0.log").stat().st_mode & 0o777 == 0o600


async def test_a_process_sees_nothing_of_the_agents_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials of the agent are not for pods."""
    monkeypatch.setenv("AGENT_SECRET", "x")
    code = "import os; print(sorted(n for n in os.environ if n != 'LC_CTYPE'))"

    await (await ContainerProcess.start(command(tmp_path, code, ONLY="x"))).wait()

    assert (tmp_path / "0.log").read_text() == "['ONLY']\n"


async def test_a_process_may_end_in_its_own_way(tmp_path: Path) -> None:
    """SIGTERM comes first, and its exit code is what the process makes of it."""
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5));"
        f"print('{READY}', flush=True); time.sleep(60)"
    )
    process = await ContainerProcess.start(command(tmp_path, code))
    await says(tmp_path, READY)

    await process.stop(10)

    assert await process.wait() == ExitStatus(5)


async def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """After its grace period."""
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"print('{READY}', flush=True); time.sleep(60)"
    )
    process = await ContainerProcess.start(command(tmp_path, code))
    await says(tmp_path, READY)

    await process.stop(0.1)

    assert await process.wait() == ExitStatus(137, signal.SIGKILL)


async def test_children_end_with_their_leader(tmp_path: Path) -> None:
    """As everything in a container ends with its first process."""
    code = (
        "import subprocess, sys;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print(child.pid, flush=True)"
    )
    process = await ContainerProcess.start(command(tmp_path, code))
    await process.wait()
    child = int((tmp_path / "0.log").read_text())

    async def gone() -> bool:
        return not alive(child)

    await eventually(gone, what="the child's end")


@pytest.mark.parametrize("program", ["/does/not/exist", "/etc/hostname", "nul\0byte"])
async def test_a_program_that_cannot_be_started_says_so(tmp_path: Path, program: str) -> None:
    """The message names it."""
    wrong = Command((program,), {}, tmp_path, tmp_path / "0.log")

    with pytest.raises(ProcessStartError, match="cannot be started"):
        await ContainerProcess.start(wrong)


AGENT = """
import asyncio, os, sys
from pathlib import Path
from privatellm_local.node.process import Command, ContainerProcess

async def main():
    work = Path(sys.argv[1])
    argv = (sys.executable, "-c", sys.argv[2])
    environment = {"PRIVATE_LLM_HOST_NODE": str(work)}
    process = await ContainerProcess.start(Command(argv, environment, work, work / "0.log"))
    print(process.pid, flush=True)
    await process.wait()

asyncio.run(main())
"""
CONTAINER = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
    "print(child.pid, flush=True); time.sleep(60)"
)


async def test_a_killed_agent_takes_its_processes_along_and_the_next_one_sweeps_the_rest(
    tmp_path: Path,
) -> None:
    """The kernel ends the leader, the sweep ends what escaped."""
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", AGENT, str(tmp_path), CONTAINER, stdout=asyncio.subprocess.PIPE
    )
    assert agent.stdout is not None
    leader = int(await agent.stdout.readline())

    async def child_of_container() -> int:
        text = (tmp_path / "0.log").read_text()
        return int(text) if text.endswith("\n") else 0

    child = await eventually(child_of_container, what="the container's child")

    os.kill(agent.pid, signal.SIGKILL)
    await agent.wait()

    async def leader_gone() -> bool:
        return not alive(leader)

    await eventually(leader_gone, what="the leader's end")
    assert leftovers.sweep(tmp_path) == [child]

    async def child_gone() -> bool:
        return not alive(child)

    await eventually(child_gone, what="the child's end")
    assert leftovers.sweep(tmp_path / "other") == []
