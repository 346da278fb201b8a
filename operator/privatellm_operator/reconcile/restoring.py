"""Taking away what others added where we decide alone, and knowing when that is in vain (ADR 0060).

Applying does not remove what belongs to another field manager. So the parts of an object that are ours
alone are put back whole, in one patch that touches nothing else of it.

A mutating webhook may change what we write within the same request. Writing again would get the same
answer, for ever. So what became of such a write is remembered, and an object that is still exactly that is
as settled as it can be. Only an answer to a write that left nobody else a say may be remembered: whatever
such an answer has beside what was sent came with that request.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Any

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_operator.reconcile.matching import exceeds, lacks, matches
from privatellm_operator.render.instance import DIGEST_ANNOTATION, digest

Operation = dict[str, Any]
"""One step of a JSON patch (RFC 6902)."""

MOST_ANSWERS = 50_000
"""Odd answers that are remembered; forgetting one costs a write."""

_IDENTITY = ("apiVersion", "kind", "metadata", "status")


class Repair(Enum):
    """What makes an object what it should be."""

    APPLY = auto()
    """Something is missing; what was added is seen to by the same write."""

    RESTORE = auto()
    """Something was added."""


def repair_of(live: Manifest, desired: Manifest, remembered: str | None) -> Repair | None:
    """Return what an object needs; ``None`` when it is as it should be, or as it can be.

    Args:
        live: The object.
        desired: What we want of it.
        remembered: The fingerprint of an odd answer; ``None`` when there was none.
    """
    needed = (
        Repair.APPLY if lacks(live, desired) else Repair.RESTORE if exceeds(live, desired) else None
    )
    return None if needed and _is_answer(live, desired, remembered) else needed


def restoration(live: Manifest, desired: Manifest) -> list[Operation]:
    """Return the patch that puts back what is ours alone, if it meets exactly this object.

    Labels and annotations of the object are left as they are, and those that others gave to pods' templates
    are kept.
    """
    owners = desired["metadata"].get("ownerReferences")
    return [
        # Another object of the name has another UID, and the API server refuses to change one.
        {"op": "replace", "path": "/metadata/uid", "value": live["metadata"]["uid"]},
        *([_put("/metadata/ownerReferences", owners)] if owners else []),
        *(
            _put(f"/{field}", _with_foreign_notes(live.get(field), value))
            for field, value in desired.items()
            if field not in _IDENTITY
        ),
    ]


class Answers:
    """What the API server made of writes that did not end as they were meant."""

    def __init__(self) -> None:
        self._prints: OrderedDict[tuple[Kind, str], str] = OrderedDict()

    def note(self, kind: Kind, desired: Manifest, answer: Manifest) -> None:
        """Take note of the answer to a write that left nobody else a say."""
        self._prints.pop(_uid(kind, answer), None)
        if not matches(answer, desired):
            self._prints[_uid(kind, answer)] = fingerprint(answer)
        if len(self._prints) > MOST_ANSWERS:
            self._prints.popitem(last=False)

    def of(self, kind: Kind, live: Manifest) -> str | None:
        """Return the fingerprint of the last odd answer about an object, if there is one."""
        return self._prints.get(_uid(kind, live))


def _is_answer(live: Manifest, desired: Manifest, remembered: str | None) -> bool:
    """Say whether an object still is what became of our last write, and that write is still wanted."""
    return (
        remembered is not None
        and remembered == fingerprint(live)
        and _applied(live) == _applied(desired)
    )


def fingerprint(manifest: Manifest) -> str:
    """Return a digest of what is ours alone in an object, and of what was applied to it last."""
    owned = {field: value for field, value in manifest.items() if field not in _IDENTITY}
    owners = manifest["metadata"].get("ownerReferences") or []
    return digest({"owned": owned, "owners": owners, "applied": _applied(manifest)})


def _put(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _with_foreign_notes(live: Any, desired: Any) -> Any:
    """Return what is wanted with the labels and annotations of a pod template that others added."""
    if not isinstance(desired, Mapping) or "template" not in desired:
        return desired
    before = ((live or {}).get("template") or {}).get("metadata") or {}
    template = desired["template"]
    return {**desired, "template": template | {"metadata": dict(_merged(before, template))}}


def _merged(before: Manifest, template: Manifest) -> Iterator[tuple[str, Any]]:
    for field, ours in template["metadata"].items():
        yield field, (before.get(field) or {}) | ours


def _applied(manifest: Manifest) -> str | None:
    annotations = manifest["metadata"].get("annotations") or {}
    return annotations.get(DIGEST_ANNOTATION)


def _uid(kind: Kind, manifest: Manifest) -> tuple[Kind, str]:
    return kind, manifest["metadata"]["uid"]
