"""APIBindings: serve an export's APIs in a workspace, and clean up when a binding goes."""

from typing import Any

from privatellm.errors import ConflictError, NotFoundError
from privatellm.kube import Manifest
from privatellm.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from privatellm_local.kcp import labels
from privatellm_local.kcp.access import accepted_claims, claims_of
from privatellm_local.kcp.controllers.context import Context, cluster_of, is_deleting
from privatellm_local.kcp.definitions import definition_of
from privatellm_local.kcp.faults import Blow
from privatellm_local.kcp.kinds import API_BINDING
from privatellm_local.kcp.urls import Export

_SCHEMA = f"{labels.PREFIX}schema"
_IDENTITY = f"{labels.PREFIX}identity"


async def sweep(context: Context) -> None:
    """Bring every binding one step further."""
    for binding in context.registry.all(API_BINDING):
        if is_deleting(binding):
            await _finish(context, binding)
        elif (found := context.registry.export_of(binding)) is not None:
            await _bind(context, binding, *found)
        else:
            await _say(context, binding, "", ready=False, message="the APIExport does not exist")


async def _bind(context: Context, binding: Manifest, export: Export, manifest: Manifest) -> None:
    await context.hold(API_BINDING, binding, labels.BINDING_FINALIZER)
    mark = labels.export_hash(export.cluster, export.name)
    if (binding["metadata"].get("labels") or {}).get(labels.EXPORT) != mark:
        await context.patch(API_BINDING, binding, {"metadata": {"labels": {labels.EXPORT: mark}}})
    identity = (manifest.get("status") or {}).get("identityHash", "")
    schemas = context.registry.schemas_of(export)
    phase = (binding.get("status") or {}).get("phase", "")
    if not identity or not phase:
        await context.set_status(API_BINDING, binding, {"phase": "Binding"})
        return
    for schema in schemas:
        conflict = await _serve(context, schema, identity)
        if conflict:
            await _say(context, binding, phase, ready=False, message=conflict)
            return
    await context.set_status(
        API_BINDING,
        binding,
        {
            "apiExportClusterName": export.cluster,
            "boundResources": [_bound(schema, identity) for schema in schemas],
            "exportPermissionClaims": list(claims_of(manifest)),
            "appliedPermissionClaims": list(accepted_claims(binding)),
        },
    )
    await _say(context, binding, "Bound", ready=True)


async def _serve(context: Context, schema: Manifest, identity: str) -> str:
    """Serve the API of a schema and return why that is not possible, or that it takes a moment."""
    wanted = definition_of(schema)
    name, schema_name = wanted["metadata"]["name"], schema["metadata"]["name"]
    wanted["metadata"]["annotations"] = {_SCHEMA: schema_name, _IDENTITY: identity}
    current = await context.client.get(CUSTOM_RESOURCE_DEFINITION, name)
    if current is None:
        await context.client.create(CUSTOM_RESOURCE_DEFINITION, wanted)
        context.pending = True
        return "the API is being set up"
    annotations = current["metadata"].get("annotations") or {}
    if annotations.get(_IDENTITY) != identity:
        return f"{name} is served for another identity; this double has one schema for each API"
    if annotations.get(_SCHEMA) != schema_name:
        await _replace(context, wanted, current)
    conditions = (current.get("status") or {}).get("conditions") or []
    established = any(
        one["type"] == "Established" and one["status"] == "True" for one in conditions
    )
    served = established and await _is_served(context, wanted["spec"])
    context.pending = context.pending or not served
    return "" if served else "the API is being set up"


async def _is_served(context: Context, spec: Manifest) -> bool:
    """Ask, because the API server says that a definition is established a moment before it serves it."""
    version = next(one["name"] for one in spec["versions"] if one["served"])
    path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
    try:
        await context.client.request("GET", path, query={"limit": "1"})
    except NotFoundError:
        return False
    return True


async def _replace(context: Context, wanted: Manifest, current: Manifest) -> None:
    version = current["metadata"]["resourceVersion"]
    metadata = wanted["metadata"] | {"resourceVersion": version}
    try:
        await context.client.replace(CUSTOM_RESOURCE_DEFINITION, wanted | {"metadata": metadata})
    except ConflictError:
        context.pending = True
        return
    # kcp tears the old API definition down with every watch on it.
    context.faults.strike(Blow.ERROR, path="/services/", plural=wanted["spec"]["names"]["plural"])


def _bound(schema: Manifest, identity: str) -> dict[str, Any]:
    spec, metadata = schema["spec"], schema["metadata"]
    return {
        "group": spec["group"],
        "resource": spec["names"]["plural"],
        "schema": {"name": metadata["name"], "UID": metadata["uid"], "identityHash": identity},
        "storageVersions": [one["name"] for one in spec["versions"] if one["storage"]],
    }


async def _say(
    context: Context, binding: Manifest, phase: str, *, ready: bool, message: str = ""
) -> None:
    condition = {"type": "Ready", "status": "True" if ready else "False", "message": message}
    initial = condition | {"type": "InitialBindingCompleted"}
    status = {"phase": phase, "conditions": [initial, condition]}
    await context.set_status(API_BINDING, binding, status)


async def _finish(context: Context, binding: Manifest) -> None:
    """Delete what is bound and wait for its finalizers, then let the binding go."""
    found = context.registry.export_of(binding)
    kinds = tuple(context.views.exported(found[0])) if found else ()
    if not await context.delete_all(kinds, cluster_of(binding)):
        message = "Some content in the logical cluster has finalizers remaining"
        failed = {"type": "BindingResourceDeleteSuccess", "status": "False", "message": message}
        await context.set_status(API_BINDING, binding, {"conditions": [failed]})
        return
    await context.release(API_BINDING, binding, labels.BINDING_FINALIZER)
