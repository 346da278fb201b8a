"""The functions that Go's templates bring along."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.values import required_text, text_of, truthy


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _equal(first: Any, *others: Any) -> bool:
    return any(first == other for other in others)


def _and(*values: Any) -> Any:
    return next((value for value in values if not truthy(value)), values[-1])


def _or(*values: Any) -> Any:
    return next((value for value in values if truthy(value)), values[-1])


def _slice(value: Any, *bounds: Any) -> Any:
    return value[slice(*(int(bound) for bound in bounds[:2]))] if bounds else value


def _printf(layout: Any, *values: Any) -> str:
    remaining = list(values)

    def verb(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        if not remaining:
            raise TemplateError(f"printf {layout!r} has more verbs than values.")
        value = remaining.pop(0)
        if match[2] == "q":
            return json.dumps(text_of(value), ensure_ascii=False)
        if match[2] in "dx":
            return format(int(value), match[1] + match[2])
        text = text_of(value)
        width = int(match[1] or 0)
        return text.ljust(-width) if width < 0 else text.rjust(width)

    return re.sub(r"%%|%(-?\d*)([svdqx])", verb, str(layout))


BUILTINS: Mapping[str, Callable[..., Any]] = {
    "and": _and,
    "or": _or,
    "not": lambda value: not truthy(value),
    "eq": _equal,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "len": len,
    "index": _index,
    "slice": _slice,
    "print": lambda *values: "".join(text_of(value) for value in values),
    "printf": _printf,
    "urlquery": lambda *values: quote_plus("".join(required_text(value) for value in values)),
}
"""Go's own functions, by name."""
