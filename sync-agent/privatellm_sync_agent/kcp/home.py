"""Find the export we serve: the endpoint slice by its name, and through it the export's workspace."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from privatellm.errors import InvalidInputError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine.world import CLUSTER_ANNOTATION, LOGICAL_CLUSTER, PATH_ANNOTATION
from privatellm_sync_agent.projection.exports import API_EXPORT

ENDPOINT_SLICE = Kind(
    "apis.kcp.io", "v1alpha1", "APIExportEndpointSlice", "apiexportendpointslices", namespaced=False
)

_CLUSTER = re.compile(r"/clusters/[^/]+")


@dataclass(frozen=True, slots=True)
class Home:
    """The workspaces of the endpoint slice and of the export, which may differ.

    Attributes:
        slices: Client for the workspace of the slice: the one the kubeconfig names.
        slice_name: Name of the slice.
        exports: Client for the workspace of the export.
        export_name: Name of the export.
    """

    slices: KubeClient
    slice_name: str
    exports: KubeClient
    export_name: str


async def find_home(kcp: KubeClient, slice_name: str) -> Home:
    """Return where the export is that a slice belongs to.

    Args:
        kcp: Client for the workspace in which the slice is.
        slice_name: Name of the slice.

    Raises:
        InvalidInputError: when the kubeconfig names no workspace, or slice or export do not exist.
        KubernetesError: when kcp cannot be asked.
    """
    if not _CLUSTER.search(kcp.server):
        raise InvalidInputError(
            f"The server of the kcp kubeconfig must name a workspace (/clusters/<path>); got {kcp.server}."
        )
    found = await kcp.get(ENDPOINT_SLICE, slice_name)
    if found is None:
        raise InvalidInputError(
            f"There is no APIExportEndpointSlice {slice_name} at {kcp.server}; create the APIExport first."
        )
    reference: dict[str, Any] = found["spec"]["export"]
    exports = await _workspace_of_export(kcp, reference.get("path", ""))
    if await exports.get(API_EXPORT, reference["name"]) is None:
        raise InvalidInputError(
            f"There is no APIExport {reference['name']} at {exports.server}; create it first."
        )
    return Home(kcp, slice_name, exports, reference["name"])


def endpoint_urls(endpoint_slice: Manifest | None) -> frozenset[str]:
    """Return the URLs of a slice; none while no workspace is bound."""
    status = (endpoint_slice or {}).get("status") or {}
    return frozenset(entry["url"] for entry in status.get("endpoints") or [])


def overridden(url: str, overrides: Iterable[tuple[str, str]]) -> str:
    """Return a URL with another host and port, for an agent that cannot reach a shard under its own.

    Args:
        url: URL of an endpoint.
        overrides: Pairs of ``host:port``, looked through in their order.
    """
    parts = urlsplit(url)
    host = parts.netloc
    for original, new in overrides:
        host = new if host == original else host
    return urlunsplit(parts._replace(netloc=host))


async def _workspace_of_export(kcp: KubeClient, path: str) -> KubeClient:
    if not path:
        return kcp
    here = await kcp.get(LOGICAL_CLUSTER, "cluster")
    annotations = (here or {"metadata": {}})["metadata"].get("annotations") or {}
    if path in (annotations.get(PATH_ANNOTATION), annotations.get(CLUSTER_ANNOTATION)):
        return kcp
    return kcp.at(_CLUSTER.sub(f"/clusters/{path}", kcp.server))
