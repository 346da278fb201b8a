"""The reference page of a chart's values: tables."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from privatellm_local.packaging.chart import OPERATOR, Chart
from privatellm_local.packaging.listing import Entry, entries
from privatellm_local.packaging.schema import Schema, values_schema

_HEADER = """\
# Values of the chart `{name}`

Generated from the types in `local/privatellm_local/packaging/{source}`; a test compares. Unknown values
are refused by `values.schema.json`. {guide}
"""

_ROW = "| value | type | default | what it is for |\n|---|---|---|---|"


def reference_page(chart: Chart = OPERATOR) -> str:
    """Return the page of a chart."""
    schema, all_entries = values_schema(chart), entries(chart)
    single = [entry for entry in all_entries if not entry.members]
    groups = [entry for entry in all_entries if entry.members]
    sections = [_section("Top level", "", single, schema)]
    sections += [_section(f"`{g.path[0]}`", g.text, list(g.leaves), schema) for g in groups]
    header = _HEADER.format(name=chart.name, source=chart.source, guide=chart.guide)
    return header + "\n" + "\n\n".join(sections) + "\n"


def _section(title: str, text: str, leaves: list[Entry], schema: Schema) -> str:
    intro = f"\n{text}\n" if text else ""
    rows = "\n".join(_row(leaf, schema) for leaf in leaves)
    return f"## {title}\n{intro}\n{_ROW}\n{rows}"


def _row(leaf: Entry, schema: Schema) -> str:
    cells = (
        f"`{'.'.join(leaf.path)}`",
        _type_name(property_at(schema, leaf.path), schema),
        f"`{json.dumps(leaf.default, ensure_ascii=False)}`",
        leaf.text,
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def property_at(schema: Schema, path: tuple[str, ...]) -> Schema:
    """Return the schema of the value at a path."""
    found: Schema = schema
    for name in path:
        found = resolved(found, schema)["properties"][name]
    return resolved(found, schema)


def resolved(part: Mapping[str, Any], schema: Schema) -> Schema:
    """Return a part of the schema with its own reference followed."""
    if "$ref" not in part:
        return dict(part)
    name = part["$ref"].removeprefix("#/$defs/")
    target: Schema = schema["$defs"][name]
    return target


def _type_name(part: Schema, schema: Schema) -> str:
    return " or ".join(_type_names(part, schema))


def _type_names(part: Schema, schema: Schema) -> Iterator[str]:
    if "anyOf" in part:
        for variant in part["anyOf"]:
            yield from _type_names(resolved(variant, schema), schema)
    elif "enum" in part:
        yield ", ".join(f"`{json.dumps(value)}`" for value in part["enum"])
    elif part.get("type") == "array":
        items = _type_name(resolved(part.get("items", {}), schema), schema)
        yield f"list of {items}"
    else:
        yield str(part.get("type", "any"))
