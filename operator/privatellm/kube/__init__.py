"""Kubernetes access: kinds as data, one client, one translation of failures, leases.

Nothing here knows our API types; that is :mod:`privatellm.api`.
"""

from privatellm.kube.client import KubeClient, Listing, Manifest, PatchType, WatchEvent

__all__ = ["KubeClient", "Listing", "Manifest", "PatchType", "WatchEvent"]
