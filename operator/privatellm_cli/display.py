"""Show progress: a live line on a terminal, plain lines elsewhere. Both write to standard error."""

import sys
import time
from typing import TextIO

import rich.progress
from rich.console import Console
from rich.table import Column
from rich.text import Text

from privatellm_local.progress import Progress

PLAIN_UPDATE_SECONDS = 10.0
"""How often a log that nobody watches is told how far a long step is."""


def progress_for(stream: TextIO | None = None) -> Progress:
    """Return the progress display that suits a stream (standard error by default)."""
    target = stream or sys.stderr
    return LiveProgress(Console(file=target)) if target.isatty() else PlainProgress(target)


def duration(seconds: float) -> str:
    """Return a duration for people: ``4.2 s``, ``3:07``, ``1:02:03``."""
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class PlainProgress:
    """One line for a step that begins to take long, and one for its end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._step = ""
        self._began = self._told = time.monotonic()

    def begin(self, step: str) -> None:
        """Note the step; its end tells the rest."""
        self._step = step
        self._began = self._told = time.monotonic()

    def update(self, detail: str) -> None:
        """Say the detail, but not too often."""
        now = time.monotonic()
        if now - self._told >= PLAIN_UPDATE_SECONDS:
            self._told = now
            self._write(f"{self._step}: {detail} ({duration(now - self._began)})")

    def end(self, outcome: str = "") -> None:
        """Say that the step is done, how long it took and what came out."""
        took = duration(time.monotonic() - self._began)
        self._write(f"{self._step}: done in {took}" + (f", {outcome}" if outcome else ""))

    def note(self, message: str) -> None:
        """Say a message."""
        self._write(message)

    def close(self) -> None:
        """Every line is finished already."""

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class LiveProgress:
    """A spinner with the open step, its age and its detail; finished steps stay above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: rich.progress.Progress | None = None
        self._task = rich.progress.TaskID(0)
        self._step = ""
        self._began = time.monotonic()

    def begin(self, step: str) -> None:
        """Show the step with a spinner."""
        self.close()
        self._step, self._began = step, time.monotonic()
        self._bar = rich.progress.Progress(
            rich.progress.SpinnerColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn(
                "{task.fields[detail]}",
                style="dim",
                markup=False,
                # It gets the width that is left, and is cut: the step's name must stay readable.
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=self._console,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task(step, total=None, detail="")
        self._bar.start()

    def update(self, detail: str) -> None:
        """Show the detail beside the step."""
        if self._bar:
            self._bar.update(self._task, detail=detail)

    def end(self, outcome: str = "") -> None:
        """Replace the spinner by a line that stays."""
        self.close()
        took = duration(time.monotonic() - self._began)
        line = Text.assemble(
            ("✓", "green"), f" {self._step} ", (f"{took} {outcome}".strip(), "dim")
        )
        self._console.print(line, soft_wrap=True)

    def note(self, message: str) -> None:
        """Print a message above the spinner."""
        self._console.print(Text(message), soft_wrap=True)

    def close(self) -> None:
        """Take the spinner away, so that an error message stands alone."""
        if self._bar:
            self._bar.stop()
            self._bar = None
