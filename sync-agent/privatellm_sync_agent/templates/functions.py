"""The functions a template can call: Go's own, the text functions of sprig, and upstream's hashes.

Arguments come in Go's order: in a pipeline the piped value is the *last* one. Every function is pure; those
that would read the environment, the clock or randomness are left out on purpose.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from privatellm_sync_agent.naming import hashes
from privatellm_sync_agent.templates.errors import TemplateError

SHORT = 20
"""Hex characters of a short hash, as upstream's functions return them."""


def text_of(value: Any) -> str:
    """Return a value as Go prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def truthy(value: Any) -> bool:
    """Return whether Go counts a value as true: zero values and empty things are not."""
    return bool(value)


def _text(value: Any) -> str:
    # Go refuses to pass a missing value as a text; a hash of nothing would make names meet.
    if value is None:
        raise TemplateError("A value is missing where a text is needed; give it a default.")
    return text_of(value)


def sha3_short(text: Any, length: Any = SHORT) -> str:
    """Return the first ``length`` hex characters of the SHA3-256 of a text."""
    # In a pipeline the text arrives last, and a length in front of it: {{ .x | sha3short 12 }}.
    if isinstance(text, int) and isinstance(length, str):
        text, length = length, text
    if int(length) <= 0:
        raise TemplateError(f"sha3short needs a length of at least 1; got {length}.")
    return hashes.sha3(_text(text))[: int(length)]


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


def _substr(start: Any, end: Any, text: Any) -> str:
    stop = None if int(end) < 0 else int(end)
    return _text(text)[int(start) : stop]


def _trunc(length: Any, text: Any) -> str:
    return _text(text)[int(length) :] if int(length) < 0 else _text(text)[: int(length)]


def _trim_prefix(prefix: Any, text: Any) -> str:
    return _text(text).removeprefix(_text(prefix))


def _trim_suffix(suffix: Any, text: Any) -> str:
    return _text(text).removesuffix(_text(suffix))


def _default(fallback: Any, value: Any = None) -> Any:
    return value if truthy(value) else fallback


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if truthy(value)), None)


def _ternary(yes: Any, no: Any, test: Any) -> Any:
    return yes if truthy(test) else no


def _join(separator: Any, values: Any) -> str:
    return _text(separator).join(_text(value) for value in values)


def _kebab(text: Any) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", _text(text))
    return re.sub(r"[\s_]+", "-", spaced).lower()


def _regex_replace(pattern: Any, text: Any, replacement: Any) -> str:
    return hashes.go_replace(_text(pattern), _text(replacement), _text(text))


def _quote(*values: Any) -> str:
    return " ".join(json.dumps(text_of(value), ensure_ascii=False) for value in values)


def _dictionary_has(value: Any, key: Any) -> bool:
    return isinstance(value, dict) and key in value


ALL: Mapping[str, Callable[..., Any]] = {
    # What Go brings along.
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
    "print": lambda *values: "".join(text_of(value) for value in values),
    "printf": _printf,
    # The text functions of sprig.
    "lower": lambda text: _text(text).lower(),
    "upper": lambda text: _text(text).upper(),
    "title": lambda text: _text(text).title(),
    "trim": lambda text: _text(text).strip(),
    "trimAll": lambda cut, text: _text(text).strip(_text(cut)),
    "trimPrefix": _trim_prefix,
    "trimSuffix": _trim_suffix,
    "nospace": lambda text: re.sub(r"\s+", "", _text(text)),
    "replace": lambda old, new, text: _text(text).replace(_text(old), _text(new)),
    "regexReplaceAll": _regex_replace,
    "substr": _substr,
    "trunc": _trunc,
    "kebabcase": _kebab,
    "repeat": lambda count, text: _text(text) * min(int(count), 253),
    "contains": lambda part, text: _text(part) in _text(text),
    "hasPrefix": lambda prefix, text: _text(text).startswith(_text(prefix)),
    "hasSuffix": lambda suffix, text: _text(text).endswith(_text(suffix)),
    "quote": _quote,
    "squote": lambda *values: " ".join(f"'{_text(value)}'" for value in values),
    "splitList": lambda separator, text: _text(text).split(_text(separator)),
    "join": _join,
    # From sprig as well: defaults, conversion, lists and dictionaries.
    "default": _default,
    "empty": lambda value=None: not truthy(value),
    "coalesce": _coalesce,
    "ternary": _ternary,
    "toString": text_of,
    "int": int,
    "add": lambda *values: sum(int(value) for value in values),
    "sub": lambda a, b: int(a) - int(b),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "get": lambda value, key: (value or {}).get(key, ""),
    "hasKey": _dictionary_has,
    "toJson": lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True),
    "b64enc": lambda text: base64.b64encode(_text(text).encode()).decode(),
    "b64dec": lambda text: base64.b64decode(_text(text)).decode(),
    # The hashes that upstream adds.
    "sha1sum": lambda text: hashes.sha1(_text(text)),
    "sha256sum": lambda text: hashlib.sha256(_text(text).encode()).hexdigest(),
    "sha3sum": lambda text: hashes.sha3(_text(text)),
    "sha3short": sha3_short,
    "shortHash": lambda text: hashes.sha1(_text(text))[:SHORT],
}
"""Every function, by the name that templates use."""
