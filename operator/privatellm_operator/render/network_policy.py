"""The NetworkPolicy of an instance: the edge and the metrics scraper come in, nobody else.

The operator may ask a running fetcher for its progress, on a port where the server never listens.
Egress is left open, because the fetcher and the server share a pod's network and the fetcher needs the hub.
"""

from collections.abc import Iterable

from privatellm.kube import Manifest, kinds
from privatellm_operator.render.fetcher import PROGRESS_PORT
from privatellm_operator.render.instance import InstanceFacts, child, selector_labels
from privatellm_operator.render.service import HTTP_PORT

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server puts on every namespace."""


def build(facts: InstanceFacts) -> Manifest:
    """Return the NetworkPolicy."""
    edge = facts.settings.edge
    spec = {
        "podSelector": {"matchLabels": selector_labels(facts.instance)},
        "policyTypes": ["Ingress"],
        "ingress": [
            {
                "from": _peers((*edge.edge_namespaces, *edge.scraper_namespaces)),
                "ports": [{"protocol": "TCP", "port": HTTP_PORT}],
            },
            {
                "from": _peers([facts.settings.pod.namespace]),
                "ports": [{"protocol": "TCP", "port": PROGRESS_PORT}],
            },
        ],
    }
    return child(kinds.NETWORK_POLICY, facts, {"spec": spec})


def _peers(namespaces: Iterable[str]) -> list[Manifest]:
    values = sorted(set(namespaces))
    match = {"key": NAMESPACE_NAME, "operator": "In", "values": values}
    return [{"namespaceSelector": {"matchExpressions": [match]}}]
