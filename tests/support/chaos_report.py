"""What the fault suite measured: JSON for the page, and a table for whoever watches."""

import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench_machine import described


@dataclass(frozen=True, slots=True)
class Row:
    """One fault.

    Attributes:
        fault: What happened, in words.
        lasted: Seconds from its beginning until what was broken was whole; 0 for a kill.
        requests: Requests with live keys, from the fault until everybody was served again.
        refused: Those that were not answered with 200, by what was answered instead.
        answered_after: Seconds from the fault's end to the last such answer; 0 when there was none.
        ordered_after: Seconds from the fault's end until a key that was ordered then opened its instance.
        audited_after: Seconds that the audit waited until it found nothing.
        dead_requests: Requests with keys that must not open.
        wrong_allows: How many of them were let in, other than those that had ended a moment before.
        orders: Orders and ends that were acknowledged.
        ended_keys: Keys that ended from the fault on.
        outlived: Seconds after the end of one of them until which it was let in; 0 when none was.
        figures: What else was measured, by what it is.
        load: The machine's load average.
    """

    fault: str
    lasted: float
    requests: int
    refused: dict[str, int]
    answered_after: float
    ordered_after: float
    audited_after: float
    dead_requests: int
    wrong_allows: int
    orders: int
    ended_keys: int
    outlived: float
    figures: dict[str, float] = field(default_factory=dict)
    load: float = field(default_factory=lambda: os.getloadavg()[0])


class Report:
    """The rows of one run, written after each so that a run which breaks off leaves what it has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._began = time.monotonic()
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Take a fault in."""
        self.rows.append(row)
        self.write()

    def write(self) -> None:
        """Write down what there is, and how long the run has taken so far."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            **described(),
            "seconds": round(time.monotonic() - self._began),
            "faults": [asdict(each) for each in self.rows],
        }
        self._path.write_text(json.dumps(content, indent=2) + "\n")

    def lines(self) -> list[str]:
        """Return the table, for a terminal."""
        form = "{:62} {:>9} {:>9} {:>9} {:>9} {:>12} {:>6}"
        head = form.format("fault", "refused", "answered", "new key", "audited", "ended", "wrong")
        return [head, *(form.format(*_cells(row)) for row in self.rows)]


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.fault,
        f"{sum(row.refused.values())}/{row.requests}",
        f"{row.answered_after:.1f} s",
        f"{row.ordered_after:.1f} s",
        f"{row.audited_after:.1f} s",
        f"{row.ended_keys}: {row.outlived:.1f} s",
        str(row.wrong_allows),
    )
