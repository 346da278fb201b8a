"""Paths into JSON values: the part of gjson and sjson that published resources use.

Dots separate members, a number is an index, ``#`` stands for every item of a list, and a backslash takes a
dot's meaning away. Queries, wildcards, modifiers and pipes are refused when a path is read. Writing returns
a new value and never changes the one it was given.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from privatellm.errors import InvalidInputError

Path = tuple[str, ...]

EACH = "#"
_SEPARATOR = re.compile(r"(?<!\\)\.")
_REFUSED = re.compile(r"(?<!\\)[*?|@!{}\[\]()]")


class PathError(InvalidInputError):
    """The path uses something that we do not implement."""


@dataclass(frozen=True, slots=True)
class Missing:
    """There is nothing at a path; a stored null is something else."""


MISSING: Final = Missing()


def parse(text: str) -> Path:
    """Return the segments of a path.

    Raises:
        PathError: when the path is empty or uses queries, wildcards, modifiers or pipes.
    """
    if not text or _REFUSED.search(text):
        raise PathError(f"A path has members, indexes and # joined by dots; got {text!r}.")
    return tuple(re.sub(r"\\(.)", r"\1", part) for part in _SEPARATOR.split(text))


def get(value: Any, path: Path) -> Any:
    """Return what stands at a path, a list of all of them behind ``#``, or :data:`MISSING`."""
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        return _in_list(value, head, rest)
    if isinstance(value, dict) and head in value:
        return get(value[head], rest)
    return MISSING


def put(value: Any, path: Path, new: Any) -> Any:
    """Return a value in which ``new`` stands at a path; missing mappings are made."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        return _put_in_list(value, head, rest, new)
    members = value if isinstance(value, dict) else {}
    return members | {head: put(members.get(head), rest, new)}


def without(value: Any, path: Path) -> Any:
    """Return a value that has nothing at a path."""
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        index = _index(head, value)
        if index is None:
            return value
        kept = [without(value[index], rest)] if rest else []
        return [*value[:index], *kept, *value[index + 1 :]]
    if not isinstance(value, dict) or head not in value:
        return value
    if not rest:
        return {key: member for key, member in value.items() if key != head}
    return value | {head: without(value[head], rest)}


def _in_list(items: list[Any], head: str, rest: Path) -> Any:
    if head == EACH:
        if not rest:
            return len(items)
        found = (get(item, rest) for item in items)
        return [item for item in found if item is not MISSING]
    index = _index(head, items)
    return MISSING if index is None else get(items[index], rest)


def _put_in_list(items: list[Any], head: str, rest: Path, new: Any) -> list[Any]:
    if head == "-1":
        return [*items, put(None, rest, new)]
    index = _index(head, items)
    if index is None:
        raise PathError(f"A list of {len(items)} items has no index {head!r}.")
    return [*items[:index], put(items[index], rest, new), *items[index + 1 :]]


def _index(head: str, items: list[Any]) -> int | None:
    return int(head) if head.isdigit() and int(head) < len(items) else None
