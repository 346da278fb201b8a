"""APIExports and endpoint slices: an identity each, and a URL while there is a binding."""

import hashlib
import secrets
from base64 import b64encode

from privatellm.kube import Manifest
from privatellm.kube.kinds import NAMESPACE, SECRET
from privatellm_local.kcp import labels
from privatellm_local.kcp.controllers.context import Context, cluster_of, is_deleting
from privatellm_local.kcp.kinds import API_EXPORT, ENDPOINT_SLICE
from privatellm_local.kcp.urls import Export

SYSTEM_NAMESPACE = "kcp-system"


async def sweep(context: Context) -> None:
    """Give every export its identity and slice, and every slice its endpoints."""
    for export in context.registry.all(API_EXPORT):
        if not is_deleting(export):
            await _identify(context, export)
            await _slice(context, export)
    for endpoints in context.registry.all(ENDPOINT_SLICE):
        await _endpoints(context, endpoints)


async def _identify(context: Context, export: Manifest) -> None:
    if (export.get("status") or {}).get("identityHash"):
        return
    cluster, name = cluster_of(export), export["metadata"]["name"]
    key = secrets.token_hex(32)
    await context.create(NAMESPACE, cluster, {"metadata": {"name": SYSTEM_NAMESPACE}})
    secret = {
        "metadata": {"name": name, "namespace": SYSTEM_NAMESPACE},
        "data": {"key": b64encode(key.encode()).decode()},
    }
    await context.create(SECRET, cluster, secret)
    reference = {"namespace": SYSTEM_NAMESPACE, "name": name}
    await context.patch(API_EXPORT, export, {"spec": {"identity": {"secretRef": reference}}})
    valid = {"type": "IdentityValid", "status": "True"}
    identity = hashlib.sha256(key.encode()).hexdigest()
    status = {"identityHash": identity, "conditions": [valid]}
    await context.set_status(API_EXPORT, export, status)


async def _slice(context: Context, export: Manifest) -> None:
    cluster, name = cluster_of(export), export["metadata"]["name"]
    annotations = export["metadata"].get("annotations") or {}
    skipped = labels.NO_ENDPOINT_SLICE in annotations
    if skipped or context.registry.get(ENDPOINT_SLICE, cluster, name) is not None:
        return
    reference = {"path": context.registry.path_of(cluster), "name": name}
    manifest = {"metadata": {"name": name}, "spec": {"export": reference}}
    await context.create(ENDPOINT_SLICE, cluster, manifest)


async def _endpoints(context: Context, endpoints: Manifest) -> None:
    reference = endpoints["spec"]["export"]
    path = reference.get("path")
    cluster = context.registry.cluster_of(path) if path else cluster_of(endpoints)
    export = Export(cluster or "", reference["name"])
    url = f"{context.url}{context.faults.prefix}/services/apiexport/{export.cluster}/{export.name}"
    bound = any(context.registry.bindings_to(export))
    status = {"endpoints": [{"url": url}] if bound else None}
    await context.set_status(ENDPOINT_SLICE, endpoints, status)
