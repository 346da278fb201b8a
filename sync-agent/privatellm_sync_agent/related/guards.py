"""Limits a provider puts on what is copied to customers, beyond upstream's fields.

A guard is an annotation ``guard.syncagent.kcp.io/<identifier>`` on the PublishedResource with a JSON
object: ``keys`` (only these keys of ``data`` travel), ``labels`` (the original must carry them) and
``controlled`` (the original must have the local copy as its controller). An object that a guard rejects is
treated as if it did not exist, so a copy made before is removed. Upstream ignores the annotation.
"""

from typing import Any

from pydantic import Field, ValidationError

from privatellm.errors import InvalidInputError, InvalidObjectError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest
from privatellm_sync_agent.published.model import SpecModel
from privatellm_sync_agent.published.spec import GroupKind

PREFIX = "guard.syncagent.kcp.io/"


class Guard(SpecModel):
    """What an original must be like, and how much of it travels."""

    keys: tuple[str, ...] | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    controlled: bool = False

    def admits(self, original: Manifest, primary_uid: str) -> bool:
        """Return whether an original may be copied for the primary with this UID."""
        labels = original["metadata"].get("labels") or {}
        has_labels = all(labels.get(key) == value for key, value in self.labels.items())
        return has_labels and (not self.controlled or is_controlled(original, primary_uid))

    def narrowed(self, original: Manifest) -> Manifest:
        """Return an original with only the keys that travel."""
        if self.keys is None:
            return original
        data: dict[str, Any] = original.get("data") or {}
        return original | {"data": {key: data[key] for key in self.keys if key in data}}


def guards_of(manifest: Manifest) -> dict[str, Guard]:
    """Return the guards of a PublishedResource by the identifier they are for.

    Raises:
        InvalidObjectError: when a guard cannot be read; without its guard nothing may be copied.
    """
    annotations = manifest["metadata"].get("annotations") or {}
    return {
        key.removeprefix(PREFIX): _parsed(key, text)
        for key, text in annotations.items()
        if key.startswith(PREFIX)
    }


def is_controlled(original: Manifest, uid: str) -> bool:
    """Return whether an object has the object with this UID as its controller."""
    references = original["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == uid and reference.get("controller") for reference in references)


def is_owned(original: Manifest, uid: str) -> bool:
    """Return whether an object names the object with this UID as an owner."""
    references = original["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == uid for reference in references)


def kind_of(reference: dict[str, Any]) -> GroupKind:
    """Return which kind an owner reference names, in whatever version."""
    group = str(reference.get("apiVersion", "")).rpartition("/")[0]
    return group, str(reference.get("kind", ""))


def _parsed(key: str, text: str) -> Guard:
    try:
        return Guard.model_validate(parse_json(text))
    except (InvalidInputError, ValidationError) as error:
        raise InvalidObjectError(
            f"The annotation {key} must be a JSON object of keys, labels and controlled; got {text!r}."
        ) from error
