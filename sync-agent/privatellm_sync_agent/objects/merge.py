"""Three-way merging: what the source changed since the last copy, as a JSON merge patch (RFC 7386).

Changes that somebody made on the copy alone survive until the source changes the same field: operators,
defaults and webhooks write there too. With :attr:`Drift.REPAIR` fields that the source has are put right
again, which is what copies of credentials need. Lists are values: they are replaced whole. Nulls of a
source count as absent, because a merge patch cannot write them.
"""

from enum import Enum
from typing import Any

from privatellm_sync_agent.objects.state import Memory, Tree, digest

Patch = dict[str, Any]


class Drift(Enum):
    """What happens to a field that was changed on the copy alone."""

    KEEP = "keep"
    REPAIR = "repair"


def without_nulls(value: Any) -> Any:
    """Return a value without members that are null, at any depth of mappings."""
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(member) for key, member in value.items() if member is not None}


def three_way(
    memory: Memory | None, source: dict[str, Any], copy: dict[str, Any], drift: Drift = Drift.KEEP
) -> Patch:
    """Return the merge patch that brings a copy up to date; empty when there is nothing to do.

    Args:
        memory: What was copied last; ``None`` when that is unknown: then the source's fields win and
            nothing is removed.
        source: The content as it should travel now.
        copy: The content of the copy.
        drift: What to do about fields that differ although the source did not change them.
    """
    tree = memory.tree if memory else {}
    return _Merge(memory.salt if memory else "", drift).mappings(tree, without_nulls(source), copy)


def exact(source: dict[str, Any], copy: dict[str, Any]) -> Patch:
    """Return the merge patch that makes a copy equal to its source, removals included."""
    patch: Patch = {key: None for key in copy if key not in source}
    for key, value in source.items():
        other = copy.get(key)
        if isinstance(value, dict) and isinstance(other, dict):
            if inner := exact(value, other):
                patch[key] = inner
        elif key not in copy or value != other:
            patch[key] = value
    return patch


def applied(patch: Any, value: Any) -> Any:
    """Return a value after a merge patch, as RFC 7386 defines it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = applied(change, result.get(key))
    return result


class _Merge:
    def __init__(self, salt: str, drift: Drift) -> None:
        self._salt = salt
        self._drift = drift

    def mappings(self, last: Tree, source: dict[str, Any], copy: dict[str, Any]) -> Patch:
        removed = (key for key in last if key not in source and key in copy)
        patch: Patch = dict.fromkeys(removed)
        for key, value in source.items():
            patch |= self._member(key, last.get(key), value, copy)
        return patch

    def _member(self, key: str, last: Tree | str | None, value: Any, copy: dict[str, Any]) -> Patch:
        other = copy.get(key)
        if isinstance(value, dict) and isinstance(other, dict):
            inner = self._inner(last, value, other)
            return {key: inner} if inner else {}
        unchanged = self._unchanged(last, value)
        if (unchanged and self._drift is Drift.KEEP) or (key in copy and other == value):
            return {}
        return {key: value}

    def _inner(
        self, last: Tree | str | None, value: dict[str, Any], other: dict[str, Any]
    ) -> Patch:
        if isinstance(last, str):  # Remembered as one value: too deep, or it was no mapping then.
            kept = last == digest(value, self._salt) and self._drift is Drift.KEEP
            return {} if kept else exact(value, other)
        return self.mappings(last or {}, value, other)

    def _unchanged(self, last: Tree | str | None, value: Any) -> bool:
        if isinstance(last, str):
            return last == digest(value, self._salt)
        return (
            last is not None
            and isinstance(value, dict)
            and last == Memory.of(value, self._salt).tree
        )
