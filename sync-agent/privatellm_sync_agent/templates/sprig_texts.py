"""The text functions of sprig."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from privatellm_sync_agent.naming import hashes
from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.values import required_text as text
from privatellm_sync_agent.templates.values import text_of, truthy

LONGEST = 4096
"""Characters that a function may make of a few: longer than anything that has a name or a label."""


def _substr(start: Any, end: Any, value: Any) -> str:
    stop = None if int(end) < 0 else int(end)
    return text(value)[max(int(start), 0) : stop]


def _trunc(length: Any, value: Any) -> str:
    return text(value)[int(length) :] if int(length) < 0 else text(value)[: int(length)]


def _abbrev(width: Any, value: Any) -> str:
    shortest = 4  # One character and an ellipsis, as sprig wants.
    full, size = text(value), int(width)
    return full if size < shortest or len(full) <= size else f"{full[: size - 3]}..."


def _words(value: Any) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text(value))
    return [word for word in re.split(r"[\s_-]+", spaced) if word]


def _each_word(value: Any, change: Callable[[str], str]) -> str:
    return re.sub(r"\S+", lambda match: change(match[0]), text(value))


def _repeat(count: Any, value: Any) -> str:
    repeated = text(value) * min(int(count), LONGEST)
    return repeated[:LONGEST]


def _indented(width: Any, value: Any) -> str:
    margin = " " * min(int(width), LONGEST)
    return margin + text(value).replace("\n", f"\n{margin}")


def _plural(one: Any, many: Any, count: Any) -> Any:
    return one if int(count) == 1 else many


def _quoted(*values: Any) -> str:
    return " ".join(json.dumps(text_of(value), ensure_ascii=False) for value in values)


def _split(separator: Any, value: Any, count: int = -1) -> dict[str, str]:
    parts = text(value).split(text(separator), max(count - 1, 0) if count >= 0 else -1)
    return {f"_{index}": part for index, part in enumerate(parts)}


def _matches(pattern: Any, value: Any, count: Any = -1) -> list[str]:
    found = [match[0] for match in hashes.compiled(text(pattern)).finditer(text(value))]
    return found if int(count) < 0 else found[: int(count)]


def _split_by(pattern: Any, value: Any, count: Any) -> list[str]:
    if int(count) == 0:
        return []
    found: list[str] = []
    rest, end = text(value), 0
    for match in hashes.compiled(text(pattern)).finditer(rest):
        if 0 < int(count) <= len(found) + 1:
            break
        found.append(rest[end : match.start()])
        end = match.end()
    return [*found, rest[end:]]


def _fail(message: Any) -> str:
    raise TemplateError(text(message))


TEXTS: Mapping[str, Callable[..., Any]] = {
    "lower": lambda value: text(value).lower(),
    "upper": lambda value: text(value).upper(),
    "title": lambda value: _each_word(value, lambda word: word[:1].upper() + word[1:]),
    "untitle": lambda value: _each_word(value, lambda word: word[:1].lower() + word[1:]),
    "swapcase": lambda value: text(value).swapcase(),
    "trim": lambda value: text(value).strip(),
    "trimAll": lambda cut, value: text(value).strip(text(cut)),
    "trimall": lambda cut, value: text(value).strip(text(cut)),
    "trimPrefix": lambda prefix, value: text(value).removeprefix(text(prefix)),
    "trimSuffix": lambda suffix, value: text(value).removesuffix(text(suffix)),
    "nospace": lambda value: re.sub(r"\s+", "", text(value)),
    "replace": lambda old, new, value: text(value).replace(text(old), text(new)),
    "substr": _substr,
    "trunc": _trunc,
    "abbrev": _abbrev,
    "initials": lambda value: "".join(word[0] for word in text(value).split()),
    "kebabcase": lambda value: "-".join(_words(value)).lower(),
    "snakecase": lambda value: "_".join(_words(value)).lower(),
    "camelcase": lambda value: "".join(word[0].upper() + word[1:] for word in _words(value)),
    "repeat": _repeat,
    "cat": lambda *values: " ".join(text_of(value) for value in values if value is not None),
    "indent": _indented,
    "nindent": lambda width, value: f"\n{_indented(width, value)}",
    "plural": _plural,
    "contains": lambda part, value: text(part) in text(value),
    "hasPrefix": lambda prefix, value: text(value).startswith(text(prefix)),
    "hasSuffix": lambda suffix, value: text(value).endswith(text(suffix)),
    "quote": _quoted,
    "squote": lambda *values: " ".join(f"'{text(value)}'" for value in values),
    "split": _split,
    "splitn": lambda separator, count, value: _split(separator, value, int(count)),
    "splitList": lambda separator, value: text(value).split(text(separator)),
    "join": lambda separator, values: text(separator).join(text(value) for value in values),
    "regexMatch": lambda pattern, value: bool(_matches(pattern, value, 1)),
    "regexFind": lambda pattern, value: "".join(_matches(pattern, value, 1)),
    "regexFindAll": _matches,
    "regexSplit": _split_by,
    "regexReplaceAll": lambda pattern, value, new: hashes.go_replace(
        text(pattern), text(new), text(value)
    ),
    "regexReplaceAllLiteral": lambda pattern, value, new: hashes.compiled(text(pattern)).sub(
        lambda _match: text(new), text(value)
    ),
    "regexQuoteMeta": lambda value: re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text(value)),
    "b64enc": lambda value: base64.b64encode(text(value).encode()).decode(),
    "b64dec": lambda value: base64.b64decode(text(value), validate=True).decode(),
    "b32enc": lambda value: base64.b32encode(text(value).encode()).decode(),
    "b32dec": lambda value: base64.b32decode(text(value)).decode(),
    "toString": text_of,
    "fail": _fail,
    "ternary": lambda yes, no, test: yes if truthy(test) else no,
}
"""Functions for texts, by name."""
