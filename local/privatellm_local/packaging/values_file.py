"""``values.yaml``: every value with its default, and above it what it is for."""

import json
import textwrap
from collections.abc import Iterator

from privatellm_local.packaging.listing import Entry, entries

WIDTH = 100

_HEADER = """\
# Values of the chart private-llm-operator; docs/reference/chart-values.md lists them as a table.
# Generated from the types in local/privatellm_local/packaging/values.py. Do not edit.
"""


def values_file() -> str:
    """Return the text of ``values.yaml``."""
    blocks = ("\n".join(_lines(entry, 0)) for entry in entries())
    return _HEADER + "\n" + "\n\n".join(blocks) + "\n"


def _lines(entry: Entry, depth: int) -> Iterator[str]:
    indent = "  " * depth
    mark = f"{indent}# "
    yield from textwrap.wrap(
        entry.text,
        width=WIDTH,
        initial_indent=mark,
        subsequent_indent=mark,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if not entry.members:
        yield f"{indent}{entry.path[-1]}: {_inline(entry)}"
        return
    yield f"{indent}{entry.path[-1]}:"
    for member in entry.members:
        yield from _lines(member, depth + 1)


def _inline(entry: Entry) -> str:
    # JSON is YAML, and its quoting has no exceptions.
    return json.dumps(entry.default, ensure_ascii=False)
