import asyncio
import json
import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import local_holding
from privatellm_cli import invocation
from privatellm_cli import main as cli
from privatellm_cli.exit_codes import ExitCode
from privatellm_local import environment
from privatellm_local.paths import StatePaths
from privatellm_local.processes.holding import Role

NO_SUCH_SLOT = b"""
{"version": 1, "slot": 4711, "edgePort": 20000, "createdAt": "2026-01-01T00:00:00Z"}
"""


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state directory that nothing runs in."""
    state = StatePaths(tmp_path / "state")
    state.create()
    return state


def test_the_status_of_nothing_is_json_too(
    paths: StatePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs get the same shape and a code that says no."""
    code = cli.main(["status", "-o", "json", "--state", str(paths.root)])

    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == ExitCode.NOT_RUNNING
    assert document["state"] == "stopped"
    assert document["components"] == []
    assert document["stateDirectory"] == str(paths.root)


def test_the_exports_of_nothing_are_an_error_and_no_output(
    paths: StatePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that `eval` does nothing."""
    code = cli.main(["env", "--state", str(paths.root)])

    written = capsys.readouterr()
    assert code == ExitCode.NOT_RUNNING
    assert written.out == ""
    assert "privatellm up" in written.err


def test_stopping_nothing_succeeds(paths: StatePaths, capsys: pytest.CaptureFixture[str]) -> None:
    """Down is about the outcome."""
    code = cli.main(["down", "--state", str(paths.root / "absent")])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.startswith("Nothing runs in")


@pytest.mark.parametrize("exists", [True, False])
def test_purging_nothing_says_that_there_was_nothing(
    tmp_path: Path, exists: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """And removes nothing."""
    directory = tmp_path / "somewhere"
    if exists:
        directory.mkdir()

    code = cli.main(["down", "--purge", "--state", str(directory)])

    assert code == ExitCode.OK
    assert capsys.readouterr().out.splitlines() == [
        f"Nothing runs in {directory}.",
        "There is no environment to remove.",
    ]
    assert directory.exists() is exists


@pytest.mark.parametrize("command", [["up", "--detach"], ["down"], ["status"]], ids=" ".join)
def test_a_directory_that_cannot_be_read_is_trouble_of_the_environment(
    paths: StatePaths,
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command line made sense; the directory cannot be used."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root, as which tests may run, is refused nothing.
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr(Path, "iterdir", refused)
    monkeypatch.setattr(Path, "read_text", refused)

    code = cli.main([*command, "--state", str(paths.root)])

    written = capsys.readouterr().err
    assert code == ExitCode.STATE
    assert str(paths.root) in written
    assert written.count("\n") == 1


@pytest.mark.parametrize("command", [["up", "--detach"], ["status"]], ids=" ".join)
@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"{",
        b'{"version": 1, "slot": 4711, "edgePort": 20000, "createdAt": "2026-01-01T00:00:00Z"}',
    ],
    ids=["no text", "no JSON", "no such slot"],
)
def test_damaged_state_is_one_line_and_code_four(
    paths: StatePaths, command: list[str], content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the remedy."""
    paths.state_file.write_bytes(content)
    local_holding.sign(paths.lock_file, Role.UP)

    code = cli.main([*command, "--state", str(paths.root)])

    last_line = capsys.readouterr().err.splitlines()[-1]
    assert code == ExitCode.STATE
    assert last_line.startswith(f"error: {paths.state_file} is damaged")
    assert "down --purge" in last_line


def test_an_interrupted_up_says_how_to_go_on(
    paths: StatePaths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line."""

    async def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    monkeypatch.setattr(environment, "up", interrupted)

    code = cli.main(["up", "--detach", "--state", str(paths.root)])

    assert code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "error: Interrupted; run it again to go on.\n"


def test_a_log_is_printed_as_it_is(paths: StatePaths, capfdbinary: Any) -> None:
    """Byte for byte."""
    paths.log("etcd").write_bytes(b"one\n\xff two\n")

    code = cli.main(["logs", "--component", "etcd", "--state", str(paths.root)])

    assert code == ExitCode.OK
    assert capfdbinary.readouterr().out == b"one\n\xff two\n"


def test_the_last_lines_of_a_log(paths: StatePaths, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as were asked for."""
    paths.log("etcd").write_text("one\ntwo\nthree\n")

    cli.main(["logs", "--component", "etcd", "--lines", "2", "--state", str(paths.root)])

    assert capsys.readouterr().out == "two\nthree\n"


def test_an_unknown_component_is_answered_with_the_known_ones(
    paths: StatePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    """And with where logs of pods are."""
    paths.log("etcd").touch()
    paths.log("traefik").touch()

    code = cli.main(["logs", "--component", "operator", "--state", str(paths.root)])

    written = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert "etcd, traefik" in written
    admin = paths.kubeconfig("admin")
    assert (
        f"kubectl --kubeconfig {admin} logs -n private-llm-system deployment/private-llm-operator"
        in written
    )


@contextmanager
def _as_somebody_else() -> Iterator[None]:
    """Act as a user to whom no file belongs."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("hidden", ["directory", "log"])
def test_logs_of_another_user_are_an_error_of_the_state_directory(
    hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the code that every command has for it."""
    with TemporaryDirectory() as directory:
        state = StatePaths(Path(directory) / "state")
        state.create()
        state.log("etcd").touch(mode=0o600)
        if hidden == "log":
            for path in (Path(directory), state.root, state.logs):
                path.chmod(0o755)

        with _as_somebody_else():
            code = cli.main(["logs", "--component", "etcd", "--state", str(state.root)])

    written = capsys.readouterr()
    assert code == ExitCode.STATE
    assert written.out == ""
    assert written.err.startswith(f"error: {state.logs}")
    assert "Permission denied" in written.err


@pytest.mark.parametrize("component", ["../state", "/etc/passwd"])
def test_a_component_is_a_name_and_not_a_path(
    paths: StatePaths, component: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing outside the log directory is read."""
    paths.log("etcd").touch()

    code = cli.main(["logs", "--component", component, "--state", str(paths.root)])

    assert code == ExitCode.USAGE
    assert capsys.readouterr().out == ""


def test_a_command_to_paste_names_the_environment(tmp_path: Path) -> None:
    """Also when its path needs quoting."""
    paths = StatePaths(tmp_path / "my state")

    words = shlex.split(invocation.command(paths, "logs", "--component", "etcd"))

    assert words[1:] == ["logs", "--component", "etcd", "--state", str(paths.root)]


def test_the_default_environment_needs_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command stays short."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert invocation.command(StatePaths(tmp_path / "private-llm"), "down").endswith(" down")


def test_a_command_to_paste_works_in_the_present_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer has not activated the virtual environment."""
    program = tmp_path / ".venv" / "bin" / "privatellm"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program)])
    paths = StatePaths(tmp_path / "s")

    assert invocation.command(paths, "down").startswith(".venv/bin/privatellm down")

    monkeypatch.setenv("PATH", str(program.parent))
    assert invocation.command(paths, "down").startswith("privatellm down")
