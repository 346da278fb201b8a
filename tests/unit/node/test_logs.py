import asyncio
from pathlib import Path

import pytest

from node_builders import container
from privatellm_local.node import logs
from privatellm_local.node.logs import LogSource
from privatellm_local.node.pods import launch
from privatellm_local.node.process import ExitStatus


def log(directory: Path, text: str) -> Path:
    path = directory / "3.log"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(0, ""), (1, "c\n"), (2, "b\nc\n"), (3, "a\nb\nc\n"), (9, "a\nb\nc\n")],
)
def test_the_tail_begins_at_a_line(tmp_path: Path, lines: int, expected: str) -> None:
    """As many lines as asked for, or all there are."""
    path = log(tmp_path, "a\nb\nc\n")

    assert path.read_text()[logs.tail_offset(path, lines) :] == expected


def test_the_tail_of_an_empty_log_is_empty(tmp_path: Path) -> None:
    """There is nothing before the first line."""
    assert logs.tail_offset(log(tmp_path, ""), 5) == 0


def test_last_words_are_bounded_in_lines_and_bytes(tmp_path: Path) -> None:
    """By the contract of termination messages."""
    many = "".join(f"{n}\n" for n in range(200))
    long = "x" * 5000 + "\nthe end\n"

    assert logs.last_words(log(tmp_path, many)).splitlines() == [str(n) for n in range(120, 200)]
    assert len(logs.last_words(log(tmp_path, long))) == logs.TERMINATION_LOG_BYTES
    assert logs.last_words(tmp_path / "absent") == ""


@pytest.mark.parametrize(
    ("own", "policy", "code", "expected"),
    [
        ("own words", "File", 1, "own words"),
        ("own words", "FallbackToLogsOnError", 1, "own words"),
        ("", "File", 1, ""),
        ("", "FallbackToLogsOnError", 1, "log\n"),
        ("", "FallbackToLogsOnError", 0, ""),
    ],
)
def test_a_termination_message_is_the_containers_own_or_the_end_of_its_log(
    tmp_path: Path, own: str, policy: str, code: int, expected: str
) -> None:
    """The log only on failure, and only when the container asks so."""
    log(tmp_path, "log\n")
    launch.termination_log(tmp_path).write_text(own)
    subject = container(terminationMessagePolicy=policy)

    assert expected == launch.termination_message(subject, tmp_path, 3, ExitStatus(code))


def test_only_the_present_and_the_previous_log_are_kept(tmp_path: Path) -> None:
    """A crash loop does not fill the disk."""
    for run in range(5):
        logs.log_file(tmp_path, run).write_text("x")
    (tmp_path / "1.log.1").write_text("x")

    logs.discard_old(tmp_path, 5)

    assert [path.name for path in tmp_path.iterdir()] == ["4.log"]


def test_a_long_log_is_moved_aside_under_its_writer(tmp_path: Path) -> None:
    """The writer goes on at the new beginning."""
    path = tmp_path / "0.log"
    with path.open("ab", buffering=0) as writer:
        writer.write(b"x" * 100)
        assert not logs.rotate(path, limit=100)
        writer.write(b"x")
        assert logs.rotate(path, limit=100)
        writer.write(b"new")

    assert path.read_bytes() == b"new"
    assert len((tmp_path / "0.log.1").read_bytes()) == 101


async def test_following_yields_what_is_added_until_the_end(tmp_path: Path) -> None:
    """Nothing that was written before the end is lost."""
    path = log(tmp_path, "a")
    ended = asyncio.Event()
    seen = b""

    async for chunk in logs.follow(LogSource(path, ended.is_set), 0):
        seen += chunk
        if chunk == b"a":
            with path.open("a") as file:
                file.write("b")
            ended.set()

    assert seen == b"ab"
