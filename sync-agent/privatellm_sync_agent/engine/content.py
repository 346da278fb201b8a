"""What a copy shall look like. Pure: the customer's object in, the copy's content out."""

import secrets
from collections.abc import Iterable
from typing import Any

from privatellm.kube import Manifest
from privatellm_sync_agent.engine.publication import Publication
from privatellm_sync_agent.mutation.rules import mutated
from privatellm_sync_agent.objects import metadata
from privatellm_sync_agent.objects.merge import Drift, Patch, three_way, without_nulls
from privatellm_sync_agent.objects.ownership import MEMORY
from privatellm_sync_agent.objects.state import Memory
from privatellm_sync_agent.published.mutations import Mutation

SUBRESOURCES = frozenset({"status"})


def content_for_copy(
    publication: Publication, remote: Manifest, local: Manifest | None
) -> Manifest:
    """Return what goes down: filtered first, so that a provider's mutation may add what a customer may not.

    Raises:
        TemplateError: when a mutation cannot be applied to this object.
        PathError: when a mutation's path leads nowhere.
    """
    return mutated_content(remote, publication.spec.mutation.spec, local)


def mutated_content(
    source: Manifest, rules: Iterable[Mutation], other: Manifest | None
) -> Manifest:
    """Return the content of an object after filtering its metadata and applying mutations."""
    content = metadata.content_of(source, SUBRESOURCES)
    names = {
        key: source["metadata"][key] for key in ("name", "namespace") if key in source["metadata"]
    }
    typed = {key: source[key] for key in ("apiVersion", "kind") if key in source}
    seen = typed | content | {"metadata": content["metadata"] | names}
    result = mutated(seen, rules, other)
    kept = {name: result["metadata"].get(name) or {} for name in ("labels", "annotations")}
    body = {
        key: value for key, value in result.items() if key not in ("apiVersion", "kind", "metadata")
    }
    cleaned: Manifest = without_nulls(body | {"metadata": kept})
    return cleaned


def status_of(source: Manifest, rules: Iterable[Mutation], other: Manifest) -> Any:
    """Return the status that travels from an object to its counterpart, or ``None`` while it has none."""
    return mutated(source, rules, other).get("status")


def new_copy(content: Manifest, labels: dict[str, str], annotations: dict[str, str]) -> Manifest:
    """Return a copy that does not exist yet, with its marks and its memory, without name and type."""
    memory = Memory.of(content, secrets.token_hex(8))
    marks = {"labels": labels, "annotations": annotations | {MEMORY: memory.text()}}
    return content | {"metadata": _joined(content["metadata"], marks)}


def update_of(
    content: Manifest,
    copy: Manifest,
    labels: dict[str, str],
    annotations: dict[str, str],
    drift: Drift = Drift.KEEP,
) -> Patch:
    """Return the merge patch that updates a copy and its memory in one; empty when all is well.

    Args:
        content: What the copy shall have.
        copy: The copy as it is.
        labels: The marks that it must carry.
        annotations: As ``labels``.
        drift: What happens to fields that were changed on the copy alone.
    """
    current = copy["metadata"].get("annotations") or {}
    memory = Memory.parse(current.get(MEMORY))
    patch = three_way(memory, content, _comparable(copy), drift)
    renewed = Memory.of(content, memory.salt if memory else secrets.token_hex(8))
    marks = {"labels": labels, "annotations": annotations | {MEMORY: renewed.text()}}
    missing = {
        name: {key: value for key, value in wanted.items() if _has(copy, name, key) != value}
        for name, wanted in marks.items()
    }
    metadata_patch = _joined(patch.get("metadata") or {}, missing)
    rest = {key: value for key, value in patch.items() if key != "metadata"}
    return rest | ({"metadata": metadata_patch} if metadata_patch else {})


def _comparable(copy: Manifest) -> Manifest:
    found = copy["metadata"]
    kept = {name: found.get(name) or {} for name in ("labels", "annotations")}
    body = {
        key: value
        for key, value in copy.items()
        if key not in ("apiVersion", "kind", "metadata", "status")
    }
    return body | {"metadata": kept}


def _has(copy: Manifest, name: str, key: str) -> Any:
    return (copy["metadata"].get(name) or {}).get(key)


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in ("labels", "annotations") if first.get(name) or second.get(name)]
    return {name: {**(first.get(name) or {}), **(second.get(name) or {})} for name in names}
