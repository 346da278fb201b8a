"""The functions of sprig for defaults, numbers, lists and dictionaries.

None changes a value that it was given, not even those that do in sprig (``set``, ``unset``, ``merge``):
what a template sees is also what others see.
"""

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from privatellm.foreign import parse_json
from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.values import required_text, text_of, truthy


def _default(fallback: Any, value: Any = None) -> Any:
    return value if truthy(value) else fallback


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if truthy(value)), None)


def _whole(value: Any) -> int:
    """Return a whole number; a fraction is cut. A text that is none fails: sprig's 0 makes names meet."""
    return int(value) if isinstance(value, int) else math.trunc(float(value))


def _quotient(a: Any, b: Any) -> int:
    """Return a division that cuts towards zero, as Go's does."""
    if _whole(b) == 0:
        raise TemplateError("A number cannot be divided by 0.")
    return math.trunc(_whole(a) / _whole(b))


def _rounded(value: Any, digits: Any) -> float:
    scale = 10.0 ** int(digits)
    return float(math.floor(float(value) * scale + 0.5) / scale)


def _kind(value: Any) -> str:
    names = {bool: "bool", int: "int", float: "float64", str: "string", list: "slice", dict: "map"}
    return names.get(type(value), "invalid")


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _without(values: Iterable[Any], *unwanted: Any) -> list[Any]:
    return [value for value in values if value not in unwanted]


def _dictionary(*parts: Any) -> dict[str, Any]:
    padded = [*parts, ""] if len(parts) % 2 else list(parts)
    return {text_of(key): value for key, value in zip(padded[::2], padded[1::2], strict=True)}


def _keys(*values: Mapping[str, Any]) -> list[str]:
    return [key for value in values for key in sorted(value)]


def _values(value: Mapping[str, Any]) -> list[Any]:
    return [value[key] for key in sorted(value)]


def _pick(value: Mapping[str, Any], *keys: Any) -> dict[str, Any]:
    return {key: value[key] for key in keys if key in value}


def _omit(value: Mapping[str, Any], *keys: Any) -> dict[str, Any]:
    return {key: kept for key, kept in value.items() if key not in keys}


def _merged(*values: Mapping[str, Any]) -> dict[str, Any]:
    """Return dictionaries together; the first that has a key wins, at every depth."""
    return functools.reduce(_under, values, {})


def _under(over: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _under(over[key], value)
        for key, value in under.items()
        if isinstance(value, dict) and isinstance(over.get(key), dict)
    }
    return {**under, **over, **both}


def _dig(*parts: Any) -> Any:
    *path, fallback, value = parts
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return fallback
        value = value[key]
    return value


def _json(value: Any, **options: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, **options)


DEFAULTS: Mapping[str, Callable[..., Any]] = {
    "default": _default,
    "empty": lambda value=None: not truthy(value),
    "coalesce": _coalesce,
    "all": lambda *values: all(map(truthy, values)),
    "any": lambda *values: any(map(truthy, values)),
    "deepEqual": lambda a, b: a == b,
    "kindOf": _kind,
    "kindIs": lambda kind, value: _kind(value) == kind,
    "fromJson": lambda text: parse_json(required_text(text)),
    "toJson": lambda value: _json(value, separators=(",", ":")),
    "toRawJson": lambda value: _json(value, separators=(",", ":")),
    "toPrettyJson": lambda value: _json(value, indent=2),
}
"""Functions for any value, by name."""

NUMBERS: Mapping[str, Callable[..., Any]] = {
    "int": _whole,
    "int64": _whole,
    "atoi": _whole,
    "float64": float,
    "add": lambda *values: sum(map(_whole, values)),
    "add1": lambda value: _whole(value) + 1,
    "sub": lambda a, b: _whole(a) - _whole(b),
    "mul": lambda *values: math.prod(map(_whole, values)),
    "div": _quotient,
    "mod": lambda a, b: _whole(a) - _quotient(a, b) * _whole(b),
    "max": lambda *values: max(map(_whole, values)),
    "min": lambda *values: min(map(_whole, values)),
    "ceil": lambda value: float(math.ceil(float(value))),
    "floor": lambda value: float(math.floor(float(value))),
    "round": _rounded,
}
"""Functions for numbers, by name."""

LISTS: Mapping[str, Callable[..., Any]] = {
    "list": lambda *values: list(values),
    "tuple": lambda *values: list(values),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "rest": lambda values: values[1:],
    "initial": lambda values: values[:-1],
    "append": lambda values, value: [*values, value],
    "prepend": lambda values, value: [value, *values],
    "concat": lambda *values: [value for one in values for value in one],
    "reverse": lambda values: list(reversed(values)),
    "uniq": _unique,
    "compact": lambda values: [value for value in values if truthy(value)],
    "without": _without,
    "has": lambda value, values: value in (values or ()),
    "sortAlpha": lambda values: sorted(map(text_of, values)),
    "toStrings": lambda values: list(map(text_of, values)),
}
"""Functions for lists, by name."""

DICTIONARIES: Mapping[str, Callable[..., Any]] = {
    "dict": _dictionary,
    "get": lambda value, key: (value or {}).get(key, ""),
    "set": lambda value, key, new: {**value, key: new},
    "unset": _omit,
    "hasKey": lambda value, key: isinstance(value, dict) and key in value,
    "keys": _keys,
    "values": _values,
    "pick": _pick,
    "omit": _omit,
    "pluck": lambda key, *values: [value[key] for value in values if key in value],
    "merge": _merged,
    "mergeOverwrite": lambda *values: _merged(*reversed(values)),
    "dig": _dig,
}
"""Functions for dictionaries, by name."""
