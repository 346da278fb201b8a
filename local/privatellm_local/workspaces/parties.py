"""What a provider and a customer do in kcp: make workspaces, export, accept claims, bind.

Everything is made if it is missing and left as it is otherwise, except the binding's answer to claims: it
follows what the export claims, as a customer does who accepts what is new.
"""

import asyncio
from typing import Any

from privatellm.errors import AlreadyExistsError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm.kube.waiting import wait_for
from privatellm_local.errors import StartError
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, ENDPOINT_SLICE, WORKSPACE
from privatellm_local.workspaces import names

KINDS = 2
"""How many kinds the agent publishes: LLMInstance and APITokenRequest."""

SECONDS = 60.0
"""How long any of these may take; a second or two on an idle machine."""


async def provide(root: KubeClient) -> None:
    """Make the provider's workspace with its export.

    Raises:
        StartError: when kcp does not get it ready.
        KubernetesError: when it refuses.
    """
    provider = await _workspace(root, names.PROVIDER)
    await _make(provider, API_EXPORT, names.EXPORT, {})
    await _until(provider, ENDPOINT_SLICE, names.EXPORT, lambda found: found is not None)


async def bind(root: KubeClient) -> None:
    """Make the customer's workspace and bind it to the export, as soon as that says what it offers.

    Raises:
        StartError: when the agent publishes nothing, or kcp does not bind.
        KubernetesError: when kcp refuses.
    """
    customer = await _workspace(root, names.CUSTOMER)
    provider = _at(root, names.path_of(names.PROVIDER))
    export = await _until(provider, API_EXPORT, names.EXPORT, _is_filled)
    reference = {"export": {"path": names.path_of(names.PROVIDER), "name": names.EXPORT}}
    spec = {"reference": reference, "permissionClaims": accepted(export)}
    await _make(customer, API_BINDING, names.EXPORT, spec)
    await customer.patch(API_BINDING, names.EXPORT, None, {"spec": spec})
    await _until(customer, API_BINDING, names.EXPORT, _is_bound)


def accepted(export: Manifest) -> list[dict[str, Any]]:
    """Return an export's claims as a customer accepts them: no wider than their proposed selectors."""
    claims: list[dict[str, Any]] = export["spec"].get("permissionClaims") or []
    return [
        {key: value for key, value in claim.items() if key != "defaultSelector"}
        | {"state": "Accepted", "selector": claim.get("defaultSelector") or {"matchAll": True}}
        for claim in claims
    ]


async def _workspace(root: KubeClient, name: str) -> KubeClient:
    await _make(root, WORKSPACE, name, {"type": {"name": "universal", "path": "root"}})
    await _until(root, WORKSPACE, name, _is_ready)
    return _at(root, names.path_of(name))


def _at(root: KubeClient, path: str) -> KubeClient:
    return root.at(f"{root.server.removesuffix('/clusters/root')}/clusters/{path}")


async def _make(client: KubeClient, kind: Kind, name: str, spec: dict[str, Any]) -> None:
    manifest = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}}
    try:
        await client.create(kind, manifest | {"spec": spec})
    except AlreadyExistsError:
        return


async def _until(client: KubeClient, kind: Kind, name: str, reached: Any) -> Manifest:
    try:
        async with asyncio.timeout(SECONDS):
            found = await wait_for(client, kind, name, None, reached)
    except TimeoutError as error:
        raise StartError(
            f"The {kind.name} {name} at {client.server} must get ready within {SECONDS:.0f} s and did "
            "not: look with `privatellm status`, and with "
            "`kubectl -n private-llm-system logs deployment/private-llm-sync-agent`."
        ) from error
    return found or {}


def _is_ready(workspace: Manifest | None) -> bool:
    return ((workspace or {}).get("status") or {}).get("phase") == "Ready"


def _is_filled(export: Manifest | None) -> bool:
    return len(((export or {}).get("spec") or {}).get("resources") or []) == KINDS


def _is_bound(binding: Manifest | None) -> bool:
    status = (binding or {}).get("status") or {}
    return status.get("phase") == "Bound" and len(status.get("boundResources") or []) == KINDS
