"""CustomResourceDefinitions of ``traefik.io/v1alpha1``, as far as the embedded edge needs them.

Traefik's providers want all ten kinds to exist. These definitions are our own: the kinds' names as the
provider asks for them, and specs that are open objects. A Middleware names its types, so that a
misspelt one is refused at once instead of becoming a router that answers 404. They are created only
where none exist and never replace Traefik's own.
"""

from dataclasses import dataclass
from typing import Any

GROUP = "traefik.io"
VERSION = "v1alpha1"

MIDDLEWARE_TYPES = (
    "addPrefix",
    "basicAuth",
    "buffering",
    "chain",
    "circuitBreaker",
    "compress",
    "contentType",
    "digestAuth",
    "encodedCharacters",
    "errors",
    "forwardAuth",
    "grpcWeb",
    "headers",
    "inFlightReq",
    "ipAllowList",
    "ipWhiteList",
    "passTLSClientCert",
    "plugin",
    "rateLimit",
    "redirectRegex",
    "redirectScheme",
    "replacePath",
    "replacePathRegex",
    "retry",
    "stripPrefix",
    "stripPrefixRegex",
)

Schema = dict[str, Any]
OPEN_OBJECT: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, slots=True)
class TraefikKind:
    """One kind; ``properties`` are the fields of its spec, or none when the spec is open."""

    name: str
    plural: str
    properties: tuple[str, ...] = ()


KINDS = (
    TraefikKind("IngressRoute", "ingressroutes"),
    TraefikKind("IngressRouteTCP", "ingressroutetcps"),
    TraefikKind("IngressRouteUDP", "ingressrouteudps"),
    TraefikKind("Middleware", "middlewares", MIDDLEWARE_TYPES),
    TraefikKind("MiddlewareTCP", "middlewaretcps"),
    TraefikKind("ServersTransport", "serverstransports"),
    TraefikKind("ServersTransportTCP", "serverstransporttcps"),
    TraefikKind("TLSOption", "tlsoptions"),
    TraefikKind("TLSStore", "tlsstores"),
    TraefikKind("TraefikService", "traefikservices"),
)


def definitions() -> tuple[dict[str, Any], ...]:
    """Return the ten definitions."""
    return tuple(_definition(kind) for kind in KINDS)


def _definition(kind: TraefikKind) -> dict[str, Any]:
    singular = kind.name.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": singular,
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _schema(kind)},
                }
            ],
        },
    }


def _schema(kind: TraefikKind) -> Schema:
    return {
        "type": "object",
        "required": ["metadata", "spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _spec(kind),
        },
    }


def _spec(kind: TraefikKind) -> Schema:
    if not kind.properties:
        return dict(OPEN_OBJECT)
    properties = {name: dict(OPEN_OBJECT) for name in kind.properties}
    return {"type": "object", "properties": properties}
