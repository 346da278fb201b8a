"""``values.yaml``: every value with its default, and above it what it is for."""

import json
import textwrap
from collections.abc import Iterator

from privatellm_local.packaging.chart import OPERATOR, Chart
from privatellm_local.packaging.listing import Entry, entries

WIDTH = 100

_HEADER = """\
# Values of the chart {name}; docs/reference/{page} lists them as a table.
# Generated from the types in local/privatellm_local/packaging/{source}. Do not edit.
"""


def values_file(chart: Chart = OPERATOR) -> str:
    """Return the text of a chart's ``values.yaml``."""
    blocks = ("\n".join(_lines(entry, 0)) for entry in entries(chart))
    header = _HEADER.format(name=chart.name, page=chart.page, source=chart.source)
    return header + "\n" + "\n\n".join(blocks) + "\n"


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
