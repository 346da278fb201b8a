"""Which labels and annotations may travel, in both directions.

A key travels unless its domain is one that a control plane reads: a customer must not reach Kubernetes,
kcp, the edge, our operator or this agent through metadata, and nothing that the provider's machinery noted
on an object may reach a customer.
"""

from collections.abc import Mapping
from typing import Any

from privatellm.kube import Manifest
from privatellm.kube.kinds import GROUP

PROTECTED_DOMAINS: tuple[str, ...] = ("kubernetes.io", "k8s.io", "kcp.io", "traefik.io", GROUP)
"""Domains, with everything below them, whose keys never travel."""

PROTECTED_PREFIXES: tuple[str, ...] = ("traefik.",)
"""Keys of control planes that use no domain of their own."""


def may_travel(key: str) -> bool:
    """Return whether a label or annotation of this key is copied."""
    if key.startswith(PROTECTED_PREFIXES):
        return False
    domain, slash, _ = key.rpartition("/")
    return not slash or not any(
        domain == protected or domain.endswith(f".{protected}") for protected in PROTECTED_DOMAINS
    )


def travelling(keys: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels or annotations that are copied."""
    return {key: value for key, value in (keys or {}).items() if may_travel(key)}


def content_of(
    manifest: Manifest, subresources: frozenset[str] = frozenset({"status"})
) -> Manifest:
    """Return what is copied of an object: everything but its type, identity and subresources.

    Metadata is reduced to the labels and annotations that may travel. Both are always there: when a
    customer takes the last label away, the copy must lose that label and not all of its own. Of everything
    else in metadata (finalizers, owners, UIDs, versions) nothing is meant for the other side.
    """
    skipped = {"apiVersion", "kind", "metadata"} | subresources
    body: dict[str, Any] = {key: value for key, value in manifest.items() if key not in skipped}
    metadata = manifest.get("metadata") or {}
    return body | {
        "metadata": {name: travelling(metadata.get(name)) for name in ("labels", "annotations")}
    }
