"""Notes on a customer's object: annotations that name the copies which were made for it in its workspace.

They are upstream's annotations with the mark of the copy beside, and tell the customer what to look for.
They tell us which copies there are without asking for them in every pass; whatever a customer writes there
can only concern that customer's own objects.
"""

import json

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest
from privatellm_sync_agent.engine.publication import RelatedRule
from privatellm_sync_agent.engine.work import Work
from privatellm_sync_agent.objects.ownership import RELATED_PREFIX
from privatellm_sync_agent.published.related import Origin
from privatellm_sync_agent.related.names import Place


async def write(work: Work, wanted: dict[str, str]) -> None:
    """Write the notes of a pass to the customer's object if they differ, and drop outdated ones of ours."""
    identifiers = {
        rule.spec.identifier for rule in work.publication.related if _has_copies_up(rule)
    }
    metadata = work.remote["metadata"]
    annotations = metadata.get("annotations") or {}
    # Upstream's notes stay until ours take their place: a copy of its making is known by nothing else.
    stale = [
        key
        for key, text in annotations.items()
        if _identifier(key) in identifiers and key not in wanted and '"copyOf"' in text
    ]
    changed = {key: text for key, text in wanted.items() if annotations.get(key) != text}
    if not stale and not changed:
        return
    body = {"metadata": {"uid": metadata["uid"], "annotations": changed | dict.fromkeys(stale)}}
    work.remote = await work.workspace.patch(
        work.publication.remote, metadata["name"], metadata.get("namespace"), body
    )


def _has_copies_up(rule: RelatedRule) -> bool:
    return rule.spec.origin is Origin.SERVICE


def of_rule(rule: RelatedRule, copies: tuple[Place, ...], mark: str) -> dict[str, str]:
    """Return the notes about the copies of a rule; nobody needs one about copies in the service cluster."""
    if not _has_copies_up(rule):
        return {}
    kind = rule.destination
    return {
        f"{RELATED_PREFIX}{rule.spec.identifier}.{index}": json.dumps(
            {
                "namespace": place.namespace,
                "name": place.name,
                "apiVersion": kind.api_version,
                "kind": kind.name,
                "copyOf": mark,
            },
            separators=(",", ":"),
        )
        for index, place in enumerate(copies)
    }


def _identifier(annotation: str) -> str:
    if not annotation.startswith(RELATED_PREFIX):
        return ""
    return annotation.removeprefix(RELATED_PREFIX).rpartition(".")[0]


def places(remote: Manifest, identifier: str) -> dict[Place, str]:
    """Return the places that an object's notes about one rule name, with the mark that ours have."""
    found: dict[Place, str] = {}
    for key, text in (remote["metadata"].get("annotations") or {}).items():
        if _identifier(key) != identifier:
            continue
        try:
            note = parse_json(text)
        except InvalidInputError:
            continue
        # Upstream's notes have no mark, and those about objects without a namespace have none.
        match {"namespace": "", "copyOf": ""} | note if isinstance(note, dict) else None:
            case {"namespace": str(namespace), "name": str(name), "copyOf": str(mark)}:
                found[Place(namespace, name)] = mark
            case _:
                continue
    return found
