"""``values.schema.json``: the schema that Helm checks values against before it renders."""

from typing import Any

from privatellm_local.packaging.chart import OPERATOR, Chart
from privatellm_local.packaging.value_types import Member

Schema = dict[str, Any]

_UNSAID = ("title", "default")
"""Titles repeat names, and ``values.yaml`` is where defaults are."""


def values_schema(chart: Chart = OPERATOR) -> Schema:
    """Return the JSON schema of a chart's values."""
    schema = chart.values.model_json_schema(by_alias=True, mode="validation")
    tidy = _tidy(schema)
    for group in (tidy, *_groups(tidy["$defs"])):
        # In Helm `null` takes a default away; templates are spared from looking for what is not there.
        group["required"] = [name for name, item in group["properties"].items() if _is_needed(item)]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **tidy}


def _groups(definitions: dict[str, Schema]) -> tuple[Schema, ...]:
    members = {member.__name__ for member in Member.__subclasses__()}
    return tuple(part for name, part in definitions.items() if name not in members)


def _tidy(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {key: _tidy(item) for key, item in schema.items() if key not in _UNSAID}
    for names in ("properties", "$defs"):
        if names in schema:
            # A value may be called like a keyword.
            tidy[names] = {name: _tidy(item) for name, item in schema[names].items()}
    return tidy


def _is_needed(schema: Schema) -> bool:
    variants = schema.get("anyOf", [schema])
    return all(variant.get("type") != "null" for variant in variants)
