"""Objects that the edge needs in the cluster: its class and its rights.

The rights are what Traefik's two Kubernetes providers read. They include Secrets, which the providers
list for TLS; nothing is written, because no status of an Ingress is published.
"""

from typing import Any

from privatellm_local.edge.configuration import INGRESS_CLASS
from privatellm_local.edge.definitions import GROUP, KINDS

READ = ["get", "list", "watch"]
ROLE = "private-llm:edge"


def ingress_class() -> dict[str, Any]:
    """Return the class of our Ingresses, which is not the cluster's default."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": INGRESS_CLASS},
        "spec": {"controller": "traefik.io/ingress-controller"},
    }


def cluster_role() -> dict[str, Any]:
    """Return what the edge may read."""
    rules = {
        "": ["configmaps", "namespaces", "nodes", "secrets", "services"],
        "discovery.k8s.io": ["endpointslices"],
        "networking.k8s.io": ["ingressclasses", "ingresses"],
        GROUP: [kind.plural for kind in KINDS],
    }
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": ROLE},
        "rules": [
            {"apiGroups": [group], "resources": resources, "verbs": READ}
            for group, resources in rules.items()
        ],
    }
