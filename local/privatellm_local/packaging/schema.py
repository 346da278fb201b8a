"""``values.schema.json``: the schema that Helm checks values against before it renders."""

from typing import Any

from privatellm_local.packaging.values import Values

Schema = dict[str, Any]

_UNSAID = ("title", "default")
"""Titles repeat names, and ``values.yaml`` is where defaults are."""


def values_schema() -> Schema:
    """Return the JSON schema of the chart's values."""
    schema = Values.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_tidy(schema)}


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
