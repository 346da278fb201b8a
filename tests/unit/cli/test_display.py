import io
import re

import pytest
from rich.console import Console

from privatellm_cli import display
from privatellm_cli.display import LiveProgress, PlainProgress


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0.0 s"), (59.94, "59.9 s"), (60, "1:00"), (187.9, "3:07"), (3723, "1:02:03")],
)
def test_durations_are_for_people(seconds: float, expected: str) -> None:
    """Tenths matter only within a minute."""
    assert display.duration(seconds) == expected


def test_a_log_gets_one_line_for_a_quick_step() -> None:
    """What passes quickly is not told in between."""
    stream = io.StringIO()
    progress = PlainProgress(stream)

    progress.begin("programs")
    progress.update("etcd: 1 of 2")
    progress.end("/cache/bin")

    assert stream.getvalue() == "programs: done in 0.0 s, /cache/bin\n"


def test_a_log_is_told_now_and_then_how_far_a_long_step_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Often enough to see that it lives, seldom enough to read."""
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    stream = io.StringIO()
    progress = PlainProgress(stream)

    progress.begin("programs")
    for second in range(25):
        now = 100.0 + second
        progress.update(f"etcd: {second} of 99")

    assert stream.getvalue().splitlines() == [
        "programs: etcd: 10 of 99 (10.0 s)",
        "programs: etcd: 20 of 99 (20.0 s)",
    ]


def test_a_terminal_keeps_finished_steps_and_shows_names_literally() -> None:
    """A path in brackets is no markup."""
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, force_terminal=True, color_system=None, width=100))

    progress.begin("programs")
    progress.update("[bold]etcd")
    progress.note("a note about [/tmp]")
    progress.end("in [/cache]")
    progress.close()

    printed = stream.getvalue()
    assert "a note about [/tmp]" in printed
    assert re.search(r"✓ programs [0-9.]+ s in \[/cache\]", printed)


def test_a_detail_that_is_longer_than_the_terminal_is_cut() -> None:
    """The step keeps its name, and its line is one."""
    stream = io.StringIO()
    progress = LiveProgress(Console(file=stream, force_terminal=True, color_system=None, width=40))

    progress.begin("platform")
    progress.update("waiting for " + "private-llm-operator-" * 5)
    progress.close()

    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", stream.getvalue()).splitlines()
    shown = [line.strip() for line in lines if "waiting" in line]
    assert shown
    assert all(re.fullmatch(r"\S platform 0:00:00 waiting for \S+…", line) for line in shown)
    assert all(len(line) <= 40 for line in shown)


def test_a_stream_that_is_no_terminal_gets_plain_lines() -> None:
    """A continuous integration log has no spinner."""
    assert isinstance(display.progress_for(io.StringIO()), PlainProgress)
