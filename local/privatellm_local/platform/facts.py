"""What the platform's manifests depend on; everything else about them is fixed."""

from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

SYSTEM_NAMESPACE = "private-llm-system"
TOKEN_NAMESPACE = "private-llm-tokens"  # noqa: S105 - the name of a namespace
OPERATOR = "private-llm-operator"
AUTHSERVER = "private-llm-authserver"
SYNC_AGENT = "private-llm-sync-agent"
PLATFORM_KEY = "private-llm-platform-key"
CATALOGUE = "private-llm-catalogue"
FIELD_MANAGER = "privatellm-up"

OPERATOR_IMAGE = "ghcr.io/private-llm/operator"
AUTHSERVER_IMAGE = "ghcr.io/private-llm/authserver"
SYNC_AGENT_IMAGE = "ghcr.io/private-llm/sync-agent"
SERVER_IMAGE = "ghcr.io/ggml-org/llama.cpp"

VERIFY_PORT = 8090
ADMIN_PORT = 8091
METRICS_PORT = 8080


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """The values of one environment.

    Attributes:
        public_host: ``host:port`` of the edge.
        auth_address: Fixed cluster IP of the ForwardAuth service; there is no DNS to find it by.
        ingress_class: The class that the edge serves.
        entry_points: Traefik's entry points that instances are served on.
        models: LLMModel manifests of the catalogue.
        onboarded_namespaces: Where customers may order: the operator may handle Secrets there.
        public_scheme: ``http``, since everything stays on loopback.
    """

    public_host: str
    auth_address: IPv4Address
    ingress_class: str
    entry_points: tuple[str, ...]
    models: tuple[dict[str, Any], ...]
    onboarded_namespaces: tuple[str, ...] = ("default", "demo")
    public_scheme: str = "http"
