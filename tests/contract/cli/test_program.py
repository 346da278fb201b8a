"""The installed program as a shell and kubectl run it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("interrupted", "subcommand"),
    [("typer", "list"), ("kubernetes", "list"), ("rich", "list"), ("httpx", "doctor")],
)
def test_an_interrupt_of_the_imports_is_a_line_too(
    tmp_path: Path, interrupted: str, subcommand: str
) -> None:
    """Importing takes long enough for a person to change their mind."""
    stub = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (tmp_path / f"{interrupted}.py").write_text(stub)
    command = Path(sys.executable).with_name("privatellm")

    ended = subprocess.run(
        [command, subcommand],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (130, "error: Interrupted.\n")


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--state", "nowhere"]])
def test_an_output_that_cannot_be_written_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    """A full disk is no fault of ours, and nothing more is said about it at exit."""
    command = Path(sys.executable).with_name("privatellm")

    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [command, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=False,
        )

    assert (ended.returncode, ended.stderr) == (
        1,
        "error: The output cannot be written: No space left on device.\n",
    )


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--state", "nowhere"]], ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_failure(arguments: list[str], tmp_path: Path) -> None:
    """As for `privatellm ... | head`: nothing is said, and the code is the one of success."""
    command = Path(sys.executable).with_name("privatellm")
    reading, writing = os.pipe()
    os.close(reading)

    with os.fdopen(writing, "w") as closed:
        ended = subprocess.run(
            [command, *arguments],
            stdout=closed,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            text=True,
            check=False,
        )

    assert (ended.returncode, ended.stderr) == (0, "")


def test_kubectl_runs_the_same_command() -> None:
    """It finds the plugin on the path, and hands over arguments and code."""
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    asked, wrong = (
        subprocess.run(
            [programs / "kubectl", "llm", *arguments],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        for arguments in (["token", "--help"], ["lst"])
    )

    assert asked.stdout.startswith("Usage: kubectl llm token")
    assert (wrong.returncode, wrong.stderr.count("Did you mean 'list'?")) == (2, 1)


def test_the_customers_commands_need_no_package_of_the_environment() -> None:
    """So that the `cli` extra is enough, and names complete quickly."""
    script = (
        "import sys; import privatellm_cli.application;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'cryptography', 'kopf', 'httpx'}))"
    )

    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert printed.stdout.strip() == "[]"
