"""Objects that every embedded cluster has before anything of ours is installed into it."""

import asyncio
from contextlib import suppress
from typing import Any

from privatellm.errors import AlreadyExistsError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import wait_for
from privatellm_local import host_node
from privatellm_local.edge import definitions
from privatellm_local.edge import objects as edge_objects
from privatellm_local.pki import inventory

FIELD_MANAGER = "privatellm-up"

Manifest = dict[str, Any]


def objects() -> tuple[Manifest, ...]:
    """Return rights and classes, in the order in which they are applied."""
    return (
        _binding(inventory.ADMINISTRATORS, "cluster-admin", "Group", inventory.ADMINISTRATORS),
        _binding(
            inventory.KUBELET_CLIENT, "system:kubelet-api-admin", "User", inventory.KUBELET_CLIENT
        ),
        host_node.cluster_role(),
        _binding(host_node.ROLE, host_node.ROLE, "User", inventory.NODE.common_name),
        edge_objects.cluster_role(),
        _binding(edge_objects.ROLE, edge_objects.ROLE, "User", inventory.EDGE.common_name),
        edge_objects.ingress_class(),
        host_node.storage_class(),
    )


def edge_definitions() -> frozenset[str]:
    """Return the names of the definitions that the edge watches."""
    return frozenset(crd["metadata"]["name"] for crd in definitions.definitions())


async def apply(client: KubeClient) -> str:
    """Bring the objects into the cluster; running it again changes nothing.

    Returns:
        What tells the edge's definitions from earlier ones of the same names.

    Raises:
        KubernetesError: when the API server refuses one.
    """
    for manifest in objects():
        await client.apply(kinds.kind_of(manifest), manifest, field_manager=FIELD_MANAGER)
    uids = [_create_definition(client, crd) for crd in definitions.definitions()]
    return " ".join(await asyncio.gather(*uids))


async def _create_definition(client: KubeClient, crd: Manifest) -> str:
    kind, name = kinds.CUSTOM_RESOURCE_DEFINITION, crd["metadata"]["name"]
    # What exists already may be Traefik's own, which says more than ours.
    with suppress(AlreadyExistsError):
        await client.create(kind, crd)
    established = await wait_for(client, kind, name, None, _is_established)
    return str((established or {})["metadata"]["uid"])


def _is_established(crd: Manifest | None) -> bool:
    # A definition that was created a moment ago has `conditions: null`.
    conditions = (crd or {}).get("status", {}).get("conditions") or []
    return any(
        condition["type"] == "Established" and condition["status"] == "True"
        for condition in conditions
    )


def _binding(name: str, role: str, subject_kind: str, subject: str) -> Manifest:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": subject_kind, "name": subject}],
    }
