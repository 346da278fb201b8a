"""The supervisor with real processes: small web servers that behave and misbehave."""

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eventually import eventually
from privatellm_local import state
from privatellm_local.errors import StartError, StateError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import control, holding, identity, specification, status
from privatellm_local.processes.identity import ProcessIdentity, is_alive
from privatellm_local.processes.specification import ComponentSpec, Probe
from privatellm_local.processes.status import ComponentState, ComponentStatus, SupervisorStatus

SERVER = """
import http.server, sys
handler = http.server.BaseHTTPRequestHandler
handler.do_GET = lambda self: (self.send_response(200), self.end_headers())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""
STUBBORN_SERVER = f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
{SERVER}
"""

KILLED_STARTER = """
import asyncio, os, signal, sys
from pathlib import Path
from privatellm_local.paths import StatePaths
from privatellm_local.processes import control
from privatellm_local.processes.holding import Lock

def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)

Lock.sign = killed
asyncio.run(control.start(StatePaths(Path(sys.argv[1])), attached=False))
"""
"""Dies between the supervisor's birth and the signature."""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _server(name: str, *, after: tuple[str, ...] = (), stubborn: bool = False) -> ComponentSpec:
    port = _free_port()
    code = STUBBORN_SERVER if stubborn else SERVER
    return ComponentSpec(
        name=name,
        argv=(sys.executable, "-c", code, str(port)),
        after=after,
        probe=Probe(url=f"http://127.0.0.1:{port}/"),
        address=f"127.0.0.1:{port}",
        stop_grace_seconds=0.5 if stubborn else 5.0,
    )


def _failing(name: str) -> ComponentSpec:
    port = _free_port()
    return ComponentSpec(
        name=name,
        argv=(sys.executable, "-c", "print('cannot open the database'); raise SystemExit(3)"),
        probe=Probe(url=f"http://127.0.0.1:{port}/"),
        address=f"127.0.0.1:{port}",
    )


@pytest.fixture
async def supervised(paths: StatePaths) -> AsyncIterator[StatePaths]:
    """A state directory whose supervisor, if there is one, is stopped in the end."""
    yield paths
    await control.stop(paths)


async def _start(paths: StatePaths, *components: ComponentSpec) -> SupervisorStatus:
    specification.write(paths.components_file, components)
    return await control.start(paths, attached=False)


async def _in_state(paths: StatePaths, name: str, state: ComponentState) -> ComponentStatus:
    async def look() -> ComponentStatus | None:
        current = status.read_living(paths)
        item = current.component(name) if current else None
        return item if item and item.state is state and item.cause_is_known else None

    found = await eventually(look, what=f"{name} {state}")
    assert found is not None
    return found


def _opened_by(pid: int) -> set[str]:
    return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}


def _process(item: ComponentStatus) -> ProcessIdentity:
    assert item.process is not None
    return item.process


async def test_a_component_waits_until_what_it_needs_is_ready(supervised: StatePaths) -> None:
    """A start order is a promise about readiness, not about processes."""
    await _start(supervised, _failing("database"), _server("api", after=("database",)))

    await _in_state(supervised, "database", ComponentState.BACKOFF)
    waiting = await _in_state(supervised, "api", ComponentState.WAITING)

    assert waiting.process is None


async def test_a_crashed_component_is_started_again_and_says_why(supervised: StatePaths) -> None:
    """The reason and the number of restarts are part of the status."""
    await _start(supervised, _server("api"))
    first = await _in_state(supervised, "api", ComponentState.READY)

    identity.send(_process(first), signal.SIGKILL)
    await _in_state(supervised, "api", ComponentState.BACKOFF)
    again = await _in_state(supervised, "api", ComponentState.READY)

    assert again.restarts == 1
    assert "signal 9" in again.message
    assert _process(again) != _process(first)


async def test_a_component_that_ends_at_once_reports_its_last_words(supervised: StatePaths) -> None:
    """Nobody has to look into a log to see the cause."""
    await _start(supervised, _failing("database"))

    failed = await _in_state(supervised, "database", ComponentState.BACKOFF)

    assert failed.message == "exited with code 3: cannot open the database"


async def test_a_program_that_is_missing_is_a_status_and_not_a_crash(
    supervised: StatePaths,
) -> None:
    """The supervisor keeps running."""
    spec = _failing("database").model_copy(update={"argv": ("/nonexistent/etcd",)})
    await _start(supervised, spec)

    failed = await _in_state(supervised, "database", ComponentState.BACKOFF)

    assert "could not be started" in failed.message
    assert "/nonexistent/etcd" in failed.message


async def test_stopping_leaves_no_process_even_a_stubborn_one(supervised: StatePaths) -> None:
    """SIGKILL follows SIGTERM after the grace period."""
    await _start(supervised, _server("api"), _server("stubborn", after=("api",), stubborn=True))
    processes = [
        _process(await _in_state(supervised, name, ComponentState.READY))
        for name in ("api", "stubborn")
    ]

    assert await control.stop(supervised)

    assert not any(identity.is_alive(process) for process in processes)
    assert status.read_living(supervised) is None
    assert not await control.stop(supervised)


async def test_a_killed_supervisor_takes_its_children_with_it(supervised: StatePaths) -> None:
    """The kernel does it; nothing is left that could hold a port."""
    current = await _start(supervised, _server("api"))
    process = _process(await _in_state(supervised, "api", ComponentState.READY))

    os.kill(current.supervisor.pid, signal.SIGKILL)

    assert identity.wait_for_exit(current.supervisor, timeout=5)
    assert identity.wait_for_exit(process, timeout=5)


async def test_a_hung_supervisor_is_killed(
    supervised: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopping does not depend on its good will."""
    monkeypatch.setattr(control, "BEGIN_TO_STOP_SECONDS", 0.5)
    current = await _start(supervised, _server("api"))
    process = _process(await _in_state(supervised, "api", ComponentState.READY))
    os.kill(current.supervisor.pid, signal.SIGSTOP)

    assert await control.stop(supervised)

    assert not identity.is_alive(current.supervisor)
    assert not identity.is_alive(process)


async def test_a_changed_file_changes_only_what_it_must(supervised: StatePaths) -> None:
    """Untouched components keep their process."""
    kept, dropped, added = _server("kept"), _server("dropped"), _server("added")
    current = await _start(supervised, kept, dropped)
    before = _process(await _in_state(supervised, "kept", ComponentState.READY))
    gone = _process(await _in_state(supervised, "dropped", ComponentState.READY))

    generation = specification.write(supervised.components_file, (kept, added))
    control.reload(current)
    await _in_state(supervised, "added", ComponentState.READY)

    after = status.read_living(supervised)
    assert after is not None
    assert after.generation == generation
    assert [item.name for item in after.components] == ["kept", "added"]
    assert after.components[0].process == before
    assert not identity.is_alive(gone)


async def test_a_damaged_file_does_not_stop_what_runs(supervised: StatePaths) -> None:
    """Running components are worth more than a file that cannot be read."""
    current = await _start(supervised, _server("api"))
    process = _process(await _in_state(supervised, "api", ComponentState.READY))

    supervised.components_file.write_text("{")
    control.reload(current)

    async def complained() -> bool:
        return "ignored" in supervised.log("supervisor").read_text()

    await eventually(complained, what="the supervisor's complaint")
    assert identity.is_alive(process)


async def test_there_is_one_supervisor_for_a_state_directory(supervised: StatePaths) -> None:
    """The second one gives up, says why, and harms nothing."""
    current = await _start(supervised, _server("api"))

    with pytest.raises(StartError, match="another supervisor runs"):
        await control.start(supervised, attached=False)

    assert identity.is_alive(current.supervisor)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]"])
async def test_a_damaged_status_does_not_hide_a_supervisor(
    supervised: StatePaths, content: bytes
) -> None:
    """Its lock says that it runs; stopping it leaves no process."""
    current = await _start(supervised, _server("api"))
    process = _process(await _in_state(supervised, "api", ComponentState.READY))
    supervised.status_file.write_bytes(content)

    assert status.read_living(supervised) is not None
    assert await control.stop(supervised)

    assert not identity.is_alive(current.supervisor)
    assert identity.wait_for_exit(process, timeout=5)


async def test_a_reload_mends_a_damaged_status(supervised: StatePaths) -> None:
    """The next `up` finds everything as it was."""
    spec = _server("api")
    current = await _start(supervised, spec)
    await _in_state(supervised, "api", ComponentState.READY)
    supervised.status_file.write_text("{")

    control.reload(current)

    await _in_state(supervised, "api", ComponentState.READY)


async def test_a_supervisor_can_be_stopped_from_its_first_moment_on(
    supervised: StatePaths,
) -> None:
    """It holds its lock before it is a process; no status is published yet."""
    specification.write(supervised.components_file, (_server("api"),))
    starting = asyncio.create_task(control.start(supervised, attached=False))
    while holding.living(supervised.supervisor_lock) is None:  # noqa: ASYNC110 - a file has no event
        await asyncio.sleep(0)
    starting.cancel()
    assert status.read(supervised) is None

    assert await control.stop(supervised)

    assert not holding.is_held(supervised.supervisor_lock)


async def test_a_supervisor_whose_starter_was_killed_can_be_stopped(
    supervised: StatePaths,
) -> None:
    """Even when nobody could write yet who holds the lock."""
    specification.write(supervised.components_file, (_server("api"),))
    argv = (sys.executable, "-c", KILLED_STARTER, str(supervised.root))
    starter = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    assert await starter.wait() == -signal.SIGKILL
    assert holding.is_held(supervised.supervisor_lock)

    assert await control.stop(supervised)

    assert not holding.is_held(supervised.supervisor_lock)


async def test_a_holder_without_a_name_is_an_error_and_not_nothing(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data must not be removed under processes that we cannot find."""
    monkeypatch.setattr(control, "NAME_SECONDS", 0.1)
    lock = holding.take(paths.supervisor_lock)
    assert lock is not None

    with pytest.raises(StateError, match="does not say who it is"):
        await control.stop(paths)
    lock.close()


async def test_a_damaged_signature_is_written_again(supervised: StatePaths) -> None:
    """A supervisor never loses its name for long."""
    current = await _start(supervised, _server("api"))

    supervised.supervisor_lock.write_text("")

    async def signed() -> bool:
        return status.read_living(supervised) is not None

    await eventually(signed, what="a new signature")
    found = status.read_living(supervised)
    assert found is not None
    assert found.supervisor == current.supervisor


async def test_a_component_does_not_inherit_the_lock(supervised: StatePaths) -> None:
    """One that outlived the supervisor would pass for it."""
    await _start(supervised, _server("api"))
    process = _process(await _in_state(supervised, "api", ComponentState.READY))

    assert str(supervised.supervisor_lock) not in _opened_by(process.pid)


@pytest.mark.parametrize("lost", ["directory", "state file", "another environment"])
async def test_a_supervisor_whose_state_is_gone_ends_everything(
    paths: StatePaths, lost: str
) -> None:
    """Nobody could find its processes any more."""
    current = await _start(paths, _server("api"))
    process = _process(await _in_state(paths, "api", ComponentState.READY))
    remembered = state.load(paths)
    assert remembered is not None

    if lost == "state file":
        paths.state_file.unlink()
    else:
        shutil.rmtree(paths.root)
    if lost == "another environment":
        paths.create()
        state.save(paths, remembered)

    async with asyncio.timeout(10):
        await identity.exited(current.supervisor)
    assert not identity.is_alive(process)
    if lost == "another environment":
        assert not holding.is_held(paths.supervisor_lock)
        assert state.load(paths) == remembered


async def test_a_supervisor_survives_a_state_that_is_written_anew(supervised: StatePaths) -> None:
    """As `up` writes it: another file under the same name."""
    current = await _start(supervised, _server("api"))
    remembered = state.load(supervised)
    assert remembered is not None

    state.save(supervised, remembered.model_copy(update={"edge_port": 20_001}))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.5):
            await identity.exited(current.supervisor)


async def test_stopping_a_copy_ends_nothing_of_the_original(
    supervised: StatePaths, tmp_path: Path
) -> None:
    """A backup names the original's processes, and they live."""
    await _start(supervised, _server("web"))
    before = _process(await _in_state(supervised, "web", ComponentState.READY))
    copy = StatePaths(tmp_path / "copy")
    shutil.copytree(supervised.root, copy.root)

    assert not await control.stop(copy)

    assert is_alive(before)
    assert _process(await _in_state(supervised, "web", ComponentState.READY)) == before


def test_a_recycled_pid_is_never_signalled() -> None:
    """The start time tells an old process from the one that has its number now."""
    somebody_else = identity.myself().model_copy(update={"start_ticks": 1})

    assert not identity.is_alive(somebody_else)
    assert not identity.send(somebody_else, signal.SIGKILL)
    assert identity.wait_for_exit(somebody_else, timeout=0)


async def test_waiting_for_an_exit_ends_with_the_process(tmp_path: Path) -> None:
    """Also when the process is not a child of ours."""
    process = await asyncio.create_subprocess_exec("sleep", "600", cwd=tmp_path)
    known = identity.identify(process.pid)
    assert known is not None
    waiting = asyncio.create_task(identity.exited(known))
    await asyncio.sleep(0)

    process.kill()
    await process.wait()

    async with asyncio.timeout(5):
        await waiting


async def test_stopping_ignores_a_status_from_before_a_reboot(paths: StatePaths) -> None:
    """Its process ids belong to somebody else now."""
    me = identity.myself().model_copy(update={"boot_id": "another"})
    status.write(
        paths,
        SupervisorStatus.model_validate(
            {
                "supervisor": me.model_dump(),
                "started_at": "2026-01-01T00:00:00Z",
                "generation": "",
                "components": [
                    {
                        "name": "etcd",
                        "state": "ready",
                        "address": "",
                        "process": me.model_dump(),
                    }
                ],
            }
        ),
    )

    assert not await control.stop(paths)
