"""Values for a chart: those that fit its schema, and one other value for each value that it has."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from chart_helm import CHART
from privatellm_local.packaging.chart import OPERATOR, Chart
from privatellm_local.packaging.listing import Entry, entries
from privatellm_local.packaging.reference import property_at, resolved

Schema = dict[str, Any]


def schema_of(chart: Path) -> Schema:
    """Return the schema of a chart's values."""
    found: Schema = json.loads((chart / "values.schema.json").read_text())
    return found


SCHEMA = schema_of(CHART)

CHARACTERS = st.characters(codec="utf-8", exclude_categories=["C"])
"""What YAML can hold."""

TEXTS = st.text(CHARACTERS, max_size=12)

JSON = st.dictionaries(st.text("abcXYZ01-./", min_size=1, max_size=12), TEXTS, max_size=2)
"""Free-form objects, such as annotations."""


def values_of(
    schema: Schema = SCHEMA, *, whole: Schema = SCHEMA, in_list: bool = False
) -> st.SearchStrategy[Any]:
    """Return a strategy for what fits a part of a schema.

    Args:
        schema: The part.
        whole: The schema that it is a part of.
        in_list: Whether it is a member of a list; those have no defaults, so what is required is given.
            Everything else may be left out, because the chart's defaults are below it.
    """
    part = resolved(schema, whole)
    if "anyOf" in part:
        return st.one_of([values_of(variant, whole=whole) for variant in part["anyOf"]])
    if "enum" in part:
        return st.sampled_from(part["enum"])
    if "properties" in part:
        return _groups(part, whole, set(part.get("required", ())) if in_list else set())
    return _BY_TYPE[part["type"]](part, whole)


def _groups(part: Schema, whole: Schema, needed: set[str]) -> st.SearchStrategy[Any]:
    fields = {name: values_of(item, whole=whole) for name, item in part["properties"].items()}
    given = {name: fields.pop(name) for name in needed}
    return st.fixed_dictionaries(given, optional=fields)


def _objects(part: Schema, whole: Schema) -> st.SearchStrategy[Any]:
    items = part.get("additionalProperties")
    for pattern, values in part.get("patternProperties", {}).items():
        return st.dictionaries(
            st.from_regex(pattern, fullmatch=True), values_of(values, whole=whole), max_size=2
        )
    if not isinstance(items, dict):
        return JSON
    names = st.text("abc.-/", min_size=1, max_size=8)
    return st.dictionaries(names, values_of(items, whole=whole), max_size=2)


def _texts(part: Schema, _whole: Schema) -> st.SearchStrategy[Any]:
    if "pattern" in part:
        texts = st.from_regex(part["pattern"], fullmatch=True, alphabet=CHARACTERS)
        return texts.filter(lambda text: len(text) < 64)
    return TEXTS


def _numbers(part: Schema, _whole: Schema) -> st.SearchStrategy[Any]:
    low = part.get("minimum", 0)
    return st.integers(low, part.get("maximum", low + 1_000_000))


def _lists(part: Schema, whole: Schema) -> st.SearchStrategy[Any]:
    items = values_of(part["items"], whole=whole, in_list=True)
    return st.lists(items, min_size=part.get("minItems", 0), max_size=2)


_BY_TYPE: dict[str, Callable[[Schema, Schema], st.SearchStrategy[Any]]] = {
    "object": _objects,
    "string": _texts,
    "integer": _numbers,
    "array": _lists,
    "boolean": lambda _part, _whole: st.booleans(),
    "null": lambda _part, _whole: st.none(),
}


def leaves(chart: Chart = OPERATOR) -> Iterator[Entry]:
    """Yield every value that a chart has."""
    for entry in entries(chart):
        yield from entry.leaves


def other_value(
    leaf: Entry,
    whole: Schema = SCHEMA,
    others: Mapping[tuple[str, ...], Any] | None = None,
) -> Any:
    """Return a value that fits a schema and differs from the default.

    Args:
        leaf: The value.
        whole: The schema of its chart.
        others: Values that are chosen by hand, by their paths; absent: those of the operator's chart.
    """
    chosen = _OTHERS if others is None else others
    if leaf.path[-1] == "digest":
        return f"sha256:{'0' * 64}"
    if leaf.path in chosen:
        return chosen[leaf.path]
    return _other(property_at(whole, leaf.path), leaf.default, whole)


def _other(part: Schema, default: Any, whole: Schema) -> Any:
    if "anyOf" in part:
        return _other(resolved(part["anyOf"][0], whole), default, whole)
    if "enum" in part:
        return next(value for value in part["enum"] if value not in (default, ""))
    if "properties" in part:
        return {"name": "other"}
    if part["type"] == "array":
        return [_other(resolved(part["items"], whole), None, whole)]
    if part["type"] == "integer":
        return (default or part.get("minimum", 0)) + 1
    return {"boolean": not default, "string": "other", "object": {"other": "other"}}[part["type"]]


_OTHERS: dict[tuple[str, ...], Any] = {
    ("PUBLIC_SCHEME",): "https",
    ("global", "publicScheme"): "https",
    ("server", "nodeClasses"): {"gpu": {"runtimeClassName": "nvidia"}},
    ("modelCache", "claimSize"): "30Gi",
    ("modelCache", "directory"): "/models",
    ("auth", "externalURL"): "http://auth.example:8090",
    ("server", "mirror"): "https://hub.example",
    ("proxy", "http"): "http://proxy.example",
    ("proxy", "https"): "http://proxy.example",
    ("authserver", "service", "clusterIP"): "10.0.0.9",
    ("edge", "corsOrigins"): ["https://chat.example"],
    ("edge", "middlewareSeparator"): "-",
    ("tokens", "longestLife"): "2160h",
    ("portal", "path"): "/portal/content.json",
    ("portal", "content", "logoUrl"): "https://logo.example",
    ("portal", "content", "keyLifetimes"): ["720h"],
    ("portal", "content", "replicaChoices"): [7],
    ("metrics", "serviceMonitor", "interval"): "7s",
    ("metrics", "alerts", "runbooks"): "https://docs.example/runbooks/{alert}.html",
    ("otel", "endpoint"): "http://otel.example:4317",
    ("otel", "samplingPercent"): 50,
    ("otel", "edgeSamplingPercent"): 50,
    ("catalogue", "models"): {"mine": {"source": {"url": "https://hub.example/mine.gguf"}}},
}
"""Where a text of the schema's pattern says more than ``other``."""


def context_of(leaf: Entry) -> dict[str, Any]:
    """Return the values without which this one has no effect."""
    if leaf.path[0] == "metrics" and len(leaf.path) > 2 and leaf.path[2] != "enabled":
        return {"metrics": {leaf.path[1]: {"enabled": True}}}
    if leaf.path[0] == "otel" and leaf.path[1] != "endpoint":
        otel = {"endpoint": "http://otel.example:4317", "headersSecret": {"name": "mine"}}
        return {"otel": otel | (_OF_EDGE if leaf.path[1].startswith("edge") else {})}
    if leaf.path[0] == "portal" and leaf.path != ("portal", "enabled"):
        return {"portal": {"enabled": True}}
    return _CONTEXTS.get(leaf.path, {})


_OF_EDGE: dict[str, Any] = {"edgeSamplingPercent": 1, "edgeHeaders": {"x-tenant": "tenant"}}

_CONTEXTS: dict[tuple[str, ...], dict[str, Any]] = {
    ("extraCA", "key"): {"extraCA": {"configMapName": "bundle"}},
    ("modelCache", "directory"): {"modelCache": {"mode": "hostPath"}},
    ("proxy", "exceptions"): {"proxy": {"https": "http://proxy.example"}},
}


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return values with one value at a path."""
    for name in reversed(path):
        value = {name: value}
    result: dict[str, Any] = value
    return result


def merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return both together; the other wins."""
    result = dict(one)
    for name, value in other.items():
        mine = result.get(name)
        both = isinstance(mine, dict) and isinstance(value, dict)
        result[name] = merged(mine, value) if both and mine is not None else value
    return result
