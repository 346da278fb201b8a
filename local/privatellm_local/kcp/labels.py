"""Labels and annotations: the double's own, which never leave it, and kcp's."""

import json
from typing import Any

from privatellm_local.kcp.names import base62_sha224

PREFIX = "kcp-double.private-llm/"
CLUSTER = f"{PREFIX}cluster"
NAMESPACE = f"{PREFIX}namespace"

KCP_CLUSTER = "kcp.io/cluster"
KCP_PATH = "kcp.io/path"
EXPORT = "internal.apis.kcp.io/export"
CLAIMED_PREFIX = "claimed.internal.apis.kcp.io/"

BINDING_FINALIZER = "apis.kcp.io/apibinding-finalizer"
WORKSPACE_FINALIZER = f"{PREFIX}workspace"
NO_ENDPOINT_SLICE = "apiexports.apis.kcp.io/skip-endpointslice"


def export_hash(cluster: str, name: str) -> str:
    """Return the hash that stands for an export in labels."""
    return base62_sha224(f"{cluster}:{name}")


def claim_key(export_cluster: str, export: str) -> str:
    """Return the key of the label on objects that an export's claims reach."""
    return CLAIMED_PREFIX + export_hash(export_cluster, export)


def claim_value(claim: dict[str, Any]) -> str:
    """Return the value of that label for one claim; verbs and selectors do not count."""
    parts = {key: claim.get(key, "") for key in ("group", "resource", "identityHash")}
    return base62_sha224(json.dumps(parts, sort_keys=True))
