"""The NetworkPolicy of an instance: the edge and the metrics scraper come in, nobody else.

The operator may ask a running fetcher for its progress, on a port where the server never listens, and the
server for its figures, unless the platform team switched that off.
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
    ours = [facts.settings.pod.namespace]
    spec = {
        "podSelector": {"matchLabels": selector_labels(facts.instance)},
        "policyTypes": ["Ingress"],
        "ingress": [
            _entrance((*edge.edge_namespaces, *edge.scraper_namespaces), HTTP_PORT),
            _entrance(ours, PROGRESS_PORT),
            *([_entrance(ours, HTTP_PORT)] if facts.settings.model_metrics.seconds else []),
        ],
    }
    return child(kinds.NETWORK_POLICY, facts, {"spec": spec})


def _entrance(namespaces: Iterable[str], port: int) -> Manifest:
    return {"from": _peers(namespaces), "ports": [{"protocol": "TCP", "port": port}]}


def _peers(namespaces: Iterable[str]) -> list[Manifest]:
    values = sorted(set(namespaces))
    match = {"key": NAMESPACE_NAME, "operator": "In", "values": values}
    return [{"namespaceSelector": {"matchExpressions": [match]}}]
