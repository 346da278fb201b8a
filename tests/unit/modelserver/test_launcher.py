"""What the launcher does before a server runs."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from privatellm_local.modelserver import launcher
from privatellm_local.modelserver.errors import InvalidArgumentsError, ModelServerError

REPORTING_SERVER = """\
#!/bin/sh
printf '%s\\n' "$0" "$MARK" "$@"
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write a file that begins like a model."""
    path = tmp_path / "m.gguf"
    path.write_bytes(launcher.GGUF_MAGIC + bytes(60))
    return path


def run_launcher(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher as the host node does."""
    return subprocess.run(
        [sys.executable, "-m", "privatellm_local.modelserver", *argv],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def free_port() -> str:
    """Find a port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as finder:
        return str(finder.getsockname()[1])


def test_an_installed_llama_server_takes_over_with_the_same_arguments(
    tmp_path: Path,
) -> None:
    """The real server is the judge of its arguments, also of those the launcher does not know."""
    server = tmp_path / "llama-server"
    server.write_text(REPORTING_SERVER)
    server.chmod(server.stat().st_mode | stat.S_IXUSR)
    argv = (
        "--model",
        "/models/m.gguf",
        "--slots",
        "--chat-template",
        "two\nlines {{ x }}",
    )

    finished = run_launcher(*argv, MARK="kept", PATH=str(tmp_path))

    assert finished.returncode == 0
    assert finished.stdout == "\n".join([str(server), "kept", *argv, ""])


def test_a_refused_argument_ends_with_one_line_and_exit_code_two(
    tmp_path: Path,
) -> None:
    """A launcher without llama-server names the argument it does not know."""
    finished = run_launcher("--model", "m", "--port", "8000", "--slots", PATH=str(tmp_path))

    assert finished.returncode == 2
    assert finished.stderr.startswith("modelserver: ")
    assert "--slots" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_the_grace_period_is_taken_from_the_arguments() -> None:
    """The launcher's own option never reaches the server."""
    argv = ["--model", "m", "--launcher-grace-seconds", "7.5"]

    assert launcher.split_options(argv) == launcher.LaunchOptions(7.5, ("--model", "m"))


def test_arguments_do_not_choose_the_program(tmp_path: Path) -> None:
    """They are a pod's, and what a pod fetched must not become what runs."""
    server = tmp_path / "llama-server"
    server.write_text(REPORTING_SERVER)
    server.chmod(server.stat().st_mode | stat.S_IXUSR)

    finished = run_launcher(
        *("--launcher-search-path", str(tmp_path), "--model", "m", "--port", "8000"), PATH=""
    )

    assert finished.returncode == 2
    assert "--launcher-search-path" in finished.stderr


def test_a_malformed_option_is_refused_in_a_sentence() -> None:
    """The launcher's own options are held to the same rule."""
    with pytest.raises(InvalidArgumentsError, match="soon"):
        launcher.split_options(["--launcher-grace-seconds", "soon"])


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    """llama.cpp only says that it could not start."""
    with pytest.raises(ModelServerError, match=r"absent\.gguf cannot be read"):
        launcher.check_model(tmp_path / "absent.gguf")


@pytest.mark.parametrize("content", [b"", b"GGU", b"<!DOCTYPE html>"])
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes) -> None:
    """A web page that was saved as a model is recognised before llama.cpp sees it."""
    path = tmp_path / "m.gguf"
    path.write_bytes(content)

    with pytest.raises(ModelServerError, match="not in GGUF format"):
        launcher.check_model(path)


def test_a_taken_port_ends_with_one_line_and_exit_code_one(tmp_path: Path, model: Path) -> None:
    """The address and what to do are named before the library is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as squatter:
        port = squatter.getsockname()[1]
        finished = run_launcher(
            *("--model", str(model), "--host", "127.0.0.1", "--port", str(port)), PATH=str(tmp_path)
        )

    assert finished.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: " in finished.stderr
    assert f"(process {os.getpid()}) does already" in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "cause"),
    [
        pytest.param("192.0.2.1", "does not belong to this machine", id="a foreign address"),
        pytest.param("no.such.host.invalid", "choose another address", id="an unknown name"),
    ],
)
def test_an_unusable_address_is_explained(host: str, cause: str) -> None:
    """Each way an address can fail has its own remedy."""
    with pytest.raises(ModelServerError, match=cause):
        launcher.check_address(host, 18999)


def test_a_free_address_is_accepted() -> None:
    """The check leaves nothing behind that would be in the way."""
    port = int(free_port())

    launcher.check_address("127.0.0.1", port)
    launcher.check_address("127.0.0.1", port)


def test_a_system_without_openmp_ends_with_one_line_and_its_remedy(
    tmp_path: Path, model: Path
) -> None:
    """The dynamic loader's complaint, made real by a libgomp that is an empty file."""
    (tmp_path / "libgomp.so.1").touch()
    finished = run_launcher(
        *("--model", str(model), "--host", "127.0.0.1", "--port", free_port()),
        PATH=str(tmp_path),
        LD_LIBRARY_PATH=str(tmp_path),
    )

    assert finished.returncode == 1
    assert "apt-get install libgomp1" in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_a_damaged_model_ends_with_exit_code_one(tmp_path: Path, model: Path) -> None:
    """llama.cpp's own log, which a thread of its own writes, names the cause; one line of ours says so."""
    finished = run_launcher(
        *("--model", str(model), "--host", "127.0.0.1", "--port", free_port()), PATH=str(tmp_path)
    )

    assert finished.returncode == 1
    # Not a line of its own: llama.cpp writes its lines in pieces, and ours may come between two.
    assert "modelserver: llama.cpp could not start" in finished.stderr
