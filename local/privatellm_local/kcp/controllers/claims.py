"""Permission claims: what a customer accepts becomes visible to the export, and vanishes when rejected.

New objects are marked when they are written; this marks and unmarks those that exist, a moment after the
customer decided, as kcp does.
"""

import json
from typing import Any

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_local.kcp import labels
from privatellm_local.kcp.access import accepted_claims, claims_of, selects
from privatellm_local.kcp.controllers.context import Context, cluster_of
from privatellm_local.kcp.kinds import API_BINDING


async def sweep(context: Context) -> None:
    """Mark the objects of every binding whose claims changed since the last sweep."""
    for binding in context.registry.all(API_BINDING):
        uid = binding["metadata"]["uid"]
        wanted = json.dumps(list(claims_of(binding)), sort_keys=True)
        changed = context.applied_claims.get(uid, "[]") != wanted
        if changed and await _mark_all(context, binding):
            context.applied_claims[uid] = wanted


async def _mark_all(context: Context, binding: Manifest) -> bool:
    found = context.registry.export_of(binding)
    if found is None:
        return False
    key = labels.claim_key(found[0].cluster, found[0].name)
    accepted = accepted_claims(binding)
    for claim in claims_of(binding):
        kind = context.views.kind(claim.get("group", ""), claim["resource"])
        if kind is not None:
            value = labels.claim_value(claim) if claim in accepted else None
            await _mark(context, kind, cluster_of(binding), claim, (key, value))
    return True


async def _mark(
    context: Context,
    kind: Kind,
    cluster: str,
    claim: dict[str, Any],
    mark: tuple[str, str | None],
) -> None:
    key, value = mark
    for manifest in await context.objects(kind, cluster):
        current = manifest["metadata"].get("labels") or {}
        wanted = value if selects(claim, current) else None
        if current.get(key) != wanted:
            await context.patch(kind, manifest, {"metadata": {"labels": {key: wanted}}})
