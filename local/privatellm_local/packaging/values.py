"""The values of ``charts/private-llm-operator``, as types.

The chart's ``values.yaml``, its ``values.schema.json`` and the reference page come from here, so a value
cannot exist without a type, a default and a sentence. Names that the Go peer's users know (``PUBLIC_HOST``,
``auth.externalURL``, ``traefik.enabled``) keep their spelling and meaning.
"""

from typing import Annotated, Literal

from pydantic import Field

from privatellm_local.packaging.part_values import (
    Auth,
    Authserver,
    EnvironmentVariable,
    Global,
    Image,
    Operator,
    OwnAuthorities,
    Proxy,
    Tls,
)
from privatellm_local.packaging.placement import Placement, PodSecurityContext, Resources
from privatellm_local.packaging.portal_values import Portal
from privatellm_local.packaging.service_values import (
    AdmissionPolicies,
    Catalogue,
    Edge,
    Ingress,
    Limits,
    ModelCache,
    PlatformKey,
    Rbac,
    Server,
    Tokens,
    Watch,
)
from privatellm_local.packaging.telemetry_values import Logs, Metrics, Otel
from privatellm_local.packaging.value_types import (
    FilledLine,
    Group,
    Host,
    Line,
    Name,
    Namespace,
    Port,
    Reference,
    Switch,
    Texts,
)


class IngressClass(Group):
    """The class that the bundled edge serves."""

    enabled: bool = True
    """Create it, unless the cluster has one of that name. It is never the cluster's default."""

    name: Name = "traefik"
    """Its name."""


class EdgeService(Group):
    """How the bundled edge is reached from outside."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "LoadBalancer"
    """Type of the Service."""

    annotations: Texts
    """Annotations, which cloud providers read."""

    web_port: Port = 80
    """Port for http."""

    websecure_port: Port = 443
    """Port for https."""


class Traefik(Placement):
    """A bundled minimal edge for a first look; production runs Traefik's own chart."""

    enabled: bool = True
    """Run it."""

    image: Image = Image(repository="docker.io/library/traefik", tag="v3.7.15")
    """Image of Traefik, v3.7.13 or newer."""

    replicas: Annotated[int, Field(ge=0)] | None = None
    """Pods; rendered only when set."""

    ingress_class: IngressClass = IngressClass()
    """The class that it serves."""

    service: EdgeService = EdgeService()
    """How it is reached from outside."""

    crds: Switch = Switch()
    """Traefik's ten definitions, each rendered only where the cluster has none."""

    trusted_ips: tuple[Line, ...] = Field(default=(), alias="trustedIPs")
    """Ranges of load balancers in front of it whose forwarded headers are believed."""

    resources: Resources = Resources.of(cpu="100m", memory="128Mi", memory_limit="512Mi")
    """Requests and limits."""


class Values(Group):
    """Every value of the chart."""

    global_: Global = Field(default=Global(), alias="global")
    """Values that an umbrella chart shares with all its charts."""

    public_host: Host = Field(default="", alias="PUBLIC_HOST")
    """`host` or `host:port` of the edge, in the URLs that customers get; empty: `global.publicHost`, else
    `localhost`."""

    public_scheme: Literal["", "http", "https"] = Field(default="", alias="PUBLIC_SCHEME")
    """Scheme of those URLs; empty: `global.publicScheme`, else `http` for hosts that stay on this machine
    and `https` for all others. Plain http elsewhere shows keys and prompts to the network."""

    tls: Tls = Tls()
    """The certificate of the bundled edge."""

    auth: Auth = Auth()
    """How the edge reaches the ForwardAuth service."""

    image: Image = Image(repository="ghcr.io/private-llm/operator")
    """Image of the operator and of the fetcher in model pods."""

    image_pull_secrets: tuple[Reference, ...] = ()
    """Pull secrets of our own pods, in the release's namespace."""

    extra_env: tuple[EnvironmentVariable, ...] = ()
    """Further variables of the operator's container."""

    operator: Operator = Operator()
    """The operator's pods."""

    authserver: Authserver = Authserver()
    """The ForwardAuth service's pods."""

    server: Server = Server()
    """What runs in the pods of an instance."""

    ingress: Ingress = Ingress()
    """The route of an instance."""

    edge: Edge = Edge()
    """How Traefik is asked to route."""

    tokens: Tokens = Tokens()
    """Keys and where the edge finds what it needs to check them."""

    platform_key: PlatformKey = PlatformKey()
    """The secret that the backend keys of all instances derive from."""

    model_cache: ModelCache = ModelCache()
    """Where fetched weights are kept."""

    limits: Limits = Limits()
    """Upper bounds on what customers may ask for."""

    watch: Watch = Watch()
    """What the operator serves."""

    onboarded_namespaces: tuple[Namespace, ...] = ("default",)
    """Namespaces in which customers may order: the operator may handle Secrets there. They must exist."""

    rbac: Rbac = Rbac()
    """Rights beyond those that the operator always has."""

    crds: Switch = Switch()
    """Our CustomResourceDefinitions. One release a cluster owns them; they stay when it is uninstalled."""

    catalogue: Catalogue = Catalogue()
    """The models that customers can choose."""

    admission_policies: AdmissionPolicies = AdmissionPolicies()
    """Policies that keep namespace admins from other people's prompts."""

    network_policies: Switch = Switch()
    """NetworkPolicies of the operator, the ForwardAuth service and the bundled edge."""

    metrics: Metrics = Metrics()
    """What is measured, and who may read it."""

    otel: Otel = Otel()
    """Traces, sent by OTLP."""

    logs: Logs = Logs()
    """How our processes speak."""

    bind_host: FilledLine = "0.0.0.0"  # noqa: S104 - a pod listens on its own addresses
    """Address that our pods listen on: `::` in clusters with IPv6 alone, `$(POD_IP)` to leave out
    loopback."""

    pod_security_context: PodSecurityContext
    """Security context of our pods. Containers drop all capabilities and have a read-only root anyway."""

    extra_ca: OwnAuthorities = Field(default=OwnAuthorities(), alias="extraCA")
    """Certificates that fetchers of models trust beside their image's, and that vouch for the collector of
    traces."""

    proxy: Proxy = Proxy()
    """Proxy variables of operator and ForwardAuth service, whose only way out is the collector of traces.
    The fetcher of models asks its source directly: without a way out give it `server.mirror`."""

    portal: Portal = Portal()
    """A server of the portal's content, for a Platform Mesh; it has no rights in the cluster."""

    traefik: Traefik = Traefik()
    """A bundled minimal edge for a first look."""
