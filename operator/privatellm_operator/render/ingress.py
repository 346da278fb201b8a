"""The Ingress: one path, one port, and the chain of shared middlewares."""

from privatellm.kube import Manifest, kinds
from privatellm.names import path_of, service_port_name
from privatellm_operator.render.instance import InstanceFacts, child
from privatellm_operator.render.middlewares import chain_name
from privatellm_operator.settings import Settings

ROUTER = "traefik.ingress.kubernetes.io/router"


def build(facts: InstanceFacts) -> Manifest:
    """Return the Ingress."""
    backend = {
        "service": {"name": facts.name, "port": {"name": service_port_name(facts.slug)}},
    }
    path = {"path": path_of(facts.slug), "pathType": "Prefix", "backend": backend}
    rule: Manifest = {"http": {"paths": [path]}}
    host = facts.settings.public.rule_host
    spec = {
        "ingressClassName": facts.settings.edge.ingress_class,
        "rules": [rule | ({"host": host} if host else {})],
    }
    metadata = {"annotations": annotations(facts)}
    return child(kinds.INGRESS, facts, {"metadata": metadata, "spec": spec})


def annotations(facts: InstanceFacts) -> dict[str, str]:
    """Return the annotations that make the router; ours win over the platform's further ones."""
    edge, public = facts.settings.edge, facts.settings.public
    ours = {
        f"{ROUTER}.middlewares": middleware_reference(facts.settings, chain_name(facts.model)),
        f"{ROUTER}.entrypoints": ",".join(edge.entry_points),
    }
    tls = {f"{ROUTER}.tls": "true"} if public.scheme == "https" else {}
    return dict(edge.ingress_annotations) | ours | tls


def middleware_reference(settings: Settings, name: str) -> str:
    """Return how an annotation names a middleware of the operator's namespace."""
    return f"{settings.pod.namespace}{settings.edge.middleware_separator}{name}@kubernetescrd"
