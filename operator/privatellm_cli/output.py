"""Show objects: columns for people, JSON and YAML for programs.

A table is never cut to the width of a terminal, so what is piped is whole; columns are padded as kubectl
pads them. Text that comes from the cluster or from a model may hold anything, so control characters,
which could rewrite a terminal, are shown and not sent.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import typer
import yaml
from rich.cells import cell_len

from privatellm.kube import Manifest

GAP = "   "
"""What stands between two columns."""

NOTHING = "<none>"
"""What an empty cell shows, as kubectl has it."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that reorder text."""


class Format(StrEnum):
    """How objects are printed."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"

    @property
    def is_document(self) -> bool:
        """Whether programs read it."""
        return self in (Format.JSON, Format.YAML)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        heading: In capitals, as kubectl has it.
        cell: Reads an object's value; empty for nothing.
        wide: Whether it is shown only with ``-o wide``.
    """

    heading: str
    cell: Callable[[Manifest], str]
    wide: bool = False


def show_list(
    items: Sequence[Manifest], columns: Sequence[Column], output: Format, *, nothing: str
) -> None:
    """Print a list of objects.

    Args:
        items: The objects.
        columns: What a table shows of them.
        output: The form.
        nothing: What a person is told, on standard error, when there are none.
    """
    if not items and not output.is_document:
        typer.echo(nothing, err=True)
    elif output.is_document:
        listing = {"apiVersion": "v1", "kind": "List", "items": [_clean(item) for item in items]}
        typer.echo(document(listing, output))
    else:
        typer.echo(table(items, columns, wide=output is Format.WIDE))


def show_one(item: Manifest, columns: Sequence[Column], output: Format) -> None:
    """Print one object."""
    if output.is_document:
        typer.echo(document(_clean(item), output))
    else:
        typer.echo(table([item], columns, wide=output is Format.WIDE))


def document(content: Any, output: Format) -> str:
    """Return content as JSON or YAML."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    if output is Format.JSON:
        return text
    # By way of JSON both say the same: YAML has no word for the enums and paths of Python.
    return yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True).rstrip()


def table(items: Iterable[Manifest], columns: Sequence[Column], *, wide: bool = False) -> str:
    """Return objects as a table."""
    shown = [column for column in columns if wide or not column.wide]
    rows = [[column.heading for column in shown]]
    rows += [[_cell(column.cell(item)) for column in shown] for item in items]
    return grid(rows)


def grid(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Return rows of cells with their columns aligned."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (
            indent + GAP.join(_padded(cell, width) for cell, width in zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def printable(text: str) -> str:
    """Return text whose control characters cannot reach the terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def field(path: str) -> Callable[[Manifest], str]:
    """Return a reader of the field at a path such as ``status.phase``."""
    names = path.split(".")

    def read(item: Manifest) -> str:
        value: Any = item
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return "" if value is None else str(value)

    return read


def age(item: Manifest) -> str:
    """Return how old an object is."""
    return elapsed(field("metadata.creationTimestamp")(item), datetime.now(UTC))


def elapsed(timestamp: str, now: datetime) -> str:
    """Return how long ago a time of the API server was, as kubectl writes it: ``26m``, ``3d4h``.

    Args:
        timestamp: RFC 3339; empty for a time that is not known.
        now: The present, with a time zone.
    """
    if not timestamp:
        return ""
    seconds = max(0, int((now - datetime.fromisoformat(timestamp)).total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 2:  # noqa: PLR2004 - below, seconds say more
        return f"{seconds}s"
    if hours < 3:  # noqa: PLR2004 - below, minutes say more
        return f"{minutes}m"
    if days < 2:  # noqa: PLR2004 - below, hours say more
        return f"{hours}h"
    return f"{days}d{hours % 24}h" if days < 8 else f"{days}d"  # noqa: PLR2004 - a week


def size(count: int) -> str:
    """Return a number of bytes for people: ``253 MB``, ``7.3 GB``."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:  # noqa: PLR2004 - decimal prefixes, as hubs show them
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def _cell(value: str) -> str:
    return " ".join(printable(value).split()) or NOTHING


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - cell_len(cell))


def _clean(item: Manifest) -> Manifest:
    """Leave out who wrote which field, as kubectl does: it is long and says little."""
    metadata = {k: v for k, v in item.get("metadata", {}).items() if k != "managedFields"}
    return {**item, "metadata": metadata}
