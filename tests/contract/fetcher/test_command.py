"""The command as the kubelet sees it: exit code, log lines, last words."""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fetcher_source as faults
from eventually import eventually
from fetcher_source import HttpSource
from privatellm_operator.fetcher.errors import (
    MESSAGE_LIMIT,
    ChecksumMismatchError,
    FetchError,
    FetchReason,
    InvalidSourceError,
)

CONTENT = b"GGUF" + os.urandom(400_000)
ALLOWED = ["--allow-private-sources"]
COMMAND = [sys.executable, "-m", "privatellm_operator.fetcher.main"]


@pytest.fixture
def source() -> Iterator[HttpSource]:
    """Serve a model."""
    with faults.running(HttpSource(CONTENT)) as running:
        yield running


def run(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*COMMAND, *argv],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_success_is_silent_on_stderr_and_reported(source: HttpSource, tmp_path: Path) -> None:
    """The digest is reported for whoever records it, and progress is JSON."""
    finished = run(
        *("--output", str(tmp_path / "m.gguf"), "--url", source.url, "--allow-private-sources"),
        *("--report", str(tmp_path / "termination-log")),
    )

    events = [json.loads(line) for line in finished.stdout.splitlines()]
    assert (finished.returncode, finished.stderr) == (0, "")
    assert events[-1]["event"] == "fetched"
    assert any(event.get("percent") == 100.0 for event in events)
    assert json.loads((tmp_path / "termination-log").read_text()) == {
        "sha256": source.sha256,
        "sizeBytes": len(CONTENT),
        "present": False,
    }


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param(["--url", "http://127.0.0.1:9/m"], "SourceRefused", id="a private address"),
        pytest.param(["--url", "file:///etc/hostname"], "SourceRefused", id="a file URL"),
        pytest.param(["--path", "/absent/m.gguf"], "NotFound", id="an absent file"),
        pytest.param(["--path", "/usr"], "InvalidSource", id="a directory"),
        pytest.param([], "InvalidSource", id="no source"),
    ],
)
def test_failure_ends_with_reason_and_sentence(
    tmp_path: Path, argv: list[str], reason: str
) -> None:
    """The last line of stderr is what the operator puts into the condition."""
    finished = run("--output", str(tmp_path / "m.gguf"), *argv)

    last_words = json.loads(finished.stderr.splitlines()[-1])
    assert finished.returncode == 1
    assert last_words["reason"] == reason
    assert last_words["message"].endswith(".")


def test_a_full_volume_is_named(source: HttpSource, tmp_path: Path) -> None:
    """What fits when it is checked may not fit when it is written."""
    output = tmp_path / "m.gguf"
    # A limit of 100 blocks stands in for a full volume; the shell only sets it.
    limited = ["/bin/sh", "-c", 'ulimit -f 100; exec "$@"', "sh"]
    finished = subprocess.run(
        [*limited, *COMMAND, "--output", str(output), "--url", source.url, *ALLOWED],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert finished.returncode == 1
    assert json.loads(finished.stderr)["reason"] == "InsufficientStorage"
    assert not output.exists()


async def test_a_stopped_fetch_is_continued_by_the_next(source: HttpSource, tmp_path: Path) -> None:
    """SIGTERM keeps the bytes that arrived, and the next container asks for the rest."""
    output, partial = tmp_path / "m.gguf", tmp_path / "m.gguf.partial"
    argv = ["--output", str(output), "--url", source.url, "--allow-private-sources"]
    source.script = [faults.silent_after(100_000)]

    async def has_bytes() -> bool:
        return partial.exists() and partial.stat().st_size >= 64_000

    process = await asyncio.create_subprocess_exec(*COMMAND, *argv, stdout=subprocess.DEVNULL)
    await eventually(has_bytes)
    process.send_signal(signal.SIGTERM)

    assert await process.wait() == 128 + signal.SIGTERM
    assert not output.exists()

    finished = run(*argv)

    assert finished.returncode == 0
    assert hashlib.sha256(output.read_bytes()).hexdigest() == source.sha256
    assert source.ranges == [None, "bytes=100000-"]


def test_last_words_stay_within_what_the_kubelet_keeps() -> None:
    """A message is one line of bounded length."""
    line = InvalidSourceError("a\nlong \t story " * 1000).to_line()

    assert "\n" not in line
    assert len(json.loads(line)["message"]) == MESSAGE_LIMIT
    assert len(line.encode()) < 2048


def test_every_error_has_a_reason_of_its_own() -> None:
    """No reason is without an error, and the tree holds nothing without a reason."""

    def descendants(kind: type[FetchError]) -> Iterator[type[FetchError]]:
        for child in kind.__subclasses__():
            yield child
            yield from descendants(child)

    assert {kind.reason for kind in descendants(FetchError)} == set(FetchReason)
    assert ChecksumMismatchError.reason == "ChecksumMismatch"
