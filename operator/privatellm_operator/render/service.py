"""The Service in front of an instance's pods."""

from privatellm.kube import Manifest, kinds
from privatellm.names import service_port_name
from privatellm_operator.render.instance import InstanceFacts, child, selector_labels

HTTP_PORT = 8000
"""Port of the model server, and of the Service for clients inside the cluster."""

EDGE_PORT = 8001
"""Port that the Ingress uses; its name is what keeps Traefik's service keys apart."""


def build(facts: InstanceFacts) -> Manifest:
    """Return the Service."""
    spec = {
        "type": "ClusterIP",
        "selector": selector_labels(facts.instance),
        "ports": [
            _port("http", HTTP_PORT),
            _port(service_port_name(facts.slug), EDGE_PORT),
        ],
    }
    return child(kinds.SERVICE, facts, {"spec": spec})


def _port(name: str, port: int) -> Manifest:
    return {"name": name, "port": port, "targetPort": HTTP_PORT, "protocol": "TCP"}
