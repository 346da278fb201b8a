"""The values of ``charts/private-llm-operator``, as types.

The chart's ``values.yaml``, its ``values.schema.json`` and the reference page come from here, so a value
cannot exist without a type, a default and a sentence. Names that the Go peer's users know (``PUBLIC_HOST``,
``auth.externalURL``, ``traefik.enabled``) keep their spelling and meaning.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from privatellm_local.packaging.placement import Placement, Resources

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]
OptionalName = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?)?$")]
Namespace = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
OptionalNamespace = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$")]
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
FilledLine = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
Host = Annotated[str, Field(pattern=r"^(([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?)?$")]
Url = Annotated[str, Field(pattern=r"^(https?://[^\s,]+)?$")]
Address = Annotated[str, Field(pattern=r"^[0-9A-Fa-f.:]*$")]
Percentage = Annotated[str, Field(pattern=r"^[0-9]{1,3}%$")]
Duration = Annotated[str, Field(pattern=r"^([0-9]+(h|m|s))*$")]
Texts = Annotated[dict[str, str], Field(default_factory=dict)]
Count = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=1, le=65535)]


class Group(BaseModel):
    """Values that belong together; an unknown one is refused."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )


class Member(Group):
    """Values of which a list or a map holds any number; there are no defaults below them."""


class Reference(Member):
    """A name of another object."""

    name: FilledLine
    """Its name."""


class Global(Group):
    """Values that an umbrella chart shares with all its charts."""

    # Other charts of the umbrella have globals of their own.
    model_config = ConfigDict(extra="allow")

    public_host: Host = ""
    """Used where `PUBLIC_HOST` is not set."""

    public_scheme: Literal["", "http", "https"] = ""
    """Used where `PUBLIC_SCHEME` is not set."""

    image_registry: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:/_-]*$")] = ""
    """Registry that replaces the one in every image, for mirrors and disconnected sites."""

    image_pull_secrets: tuple[Reference, ...] = ()
    """Further pull secrets of our own pods."""


class ImageReference(Group):
    """An image that the operator puts into the pods of instances."""

    repository: FilledLine
    """Registry and repository."""

    tag: Annotated[str, Field(pattern=r"^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$")] = ""
    """Tag; empty: the chart's `appVersion`."""

    digest: Annotated[str, Field(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    """Digest such as `sha256:…`, which wins over the tag. Pin it in production."""


class Image(ImageReference):
    """An image of our own pods."""

    pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """When a node pulls the image."""


class Tls(Group):
    """The certificate of the bundled edge."""

    secret_name: OptionalName = ""
    """Secret of the type `kubernetes.io/tls` in the release's namespace; empty: Traefik makes its own
    self-signed certificate. An edge of your own has its own certificate settings."""


class Auth(Group):
    """How the edge reaches the ForwardAuth service."""

    external_url: Url = Field(default="", alias="externalURL")
    """Base URL of the verify port; empty: the Service's cluster IP where `authserver.service.clusterIP`
    fixes one, else its DNS name. One changed address is one write, whatever the number of instances."""


class EnvironmentVariable(Member):
    """A variable of a container, as Kubernetes writes it."""

    name: FilledLine
    """Its name."""

    value: str | None = None
    """Its value."""

    value_from: dict[str, Any] | None = None
    """Where its value comes from."""


class Operator(Placement):
    """The operator's pods."""

    replicas: Annotated[int, Field(ge=0)] | None = None
    """Pods; one leads and the others stand by. Rendered only when set, so that `kubectl scale` and Helm do
    not fight over it; unset, Kubernetes makes it 1."""

    resources: Resources = Resources.of(cpu="50m", memory="128Mi", memory_limit="512Mi")
    """Requests and limits."""


class AuthService(Group):
    """The Service that the edge asks."""

    cluster_ip: Address = Field(default="", alias="clusterIP")
    """Fixed cluster IP; empty: the cluster chooses. Needed where the edge has no cluster DNS."""

    annotations: Texts
    """Annotations of the Service."""


class DisruptionBudget(Group):
    """What a drain of nodes must leave running."""

    enabled: bool = True
    """Render a PodDisruptionBudget."""

    min_available: Annotated[int, Field(ge=0)] | Percentage = 1
    """Pods that stay, or a percentage."""


class Authserver(Placement):
    """The ForwardAuth service's pods: every request of every customer asks one of them."""

    image: Image = Image(repository="ghcr.io/private-llm/authserver")
    """Image of the ForwardAuth service."""

    replicas: Annotated[int, Field(ge=0)] | None = 2
    """Pods; `null` leaves the number to an autoscaler or to `kubectl scale`."""

    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Processes in a pod. Each holds its own index: about 60 MB, and 45 MB more per 100 000 keys."""

    max_staleness_seconds: Annotated[int, Field(ge=1)] = 60
    """How long the last good index is used without word from the API server; then requests get 503."""

    drain_seconds: Annotated[int, Field(ge=0, le=25)] = 3
    """Seconds a terminating pod goes on answering while the edge takes notice."""

    audit_lines_per_second: Count = 10
    """Audit lines a second, per worker and outcome."""

    service: AuthService = AuthService()
    """The Service that the edge asks; it has the ports 8090 (verify) and 8091 (probes and metrics)."""

    pod_disruption_budget: DisruptionBudget = DisruptionBudget()
    """What a drain of nodes must leave running."""

    resources: Resources = Resources.of(cpu="100m", memory="192Mi", memory_limit="512Mi")
    """Requests and limits."""

    extra_env: tuple[EnvironmentVariable, ...] = ()
    """Further variables of the container."""


class NodeClass(Member):
    """Where the servers of some models run; the fields are those of a pod's spec."""

    node_selector: Texts
    """Labels that a node must have."""

    tolerations: tuple[dict[str, str | int], ...] = ()
    """Taints of nodes that do not keep the servers away."""

    priority_class_name: OptionalName = ""
    """Priority of the pods."""

    runtime_class_name: OptionalName = ""
    """Runtime of the containers, such as one for GPUs."""


class Server(Group):
    """What runs in the pods of an instance, in the customers' namespaces."""

    image: ImageReference = ImageReference(repository="ghcr.io/ggml-org/llama.cpp", tag="server")
    """Image of the llama.cpp server."""

    image_pull_secrets: tuple[Reference, ...] = ()
    """Pull secrets that exist in every customer's namespace."""

    mirror: Url = ""
    """Base URL that replaces the model hub's; empty: the hub itself."""

    node_classes: Annotated[dict[Name, NodeClass], Field(default_factory=dict)]
    """Where servers run, by the `nodeClass` of their models."""

    allow_file_sources: bool = False
    """Let models come from `file://` URLs; for development machines."""

    allow_private_sources: bool = False
    """Let models come from hosts with private or link-local addresses."""

    grace_period_seconds: Annotated[int, Field(ge=5)] = 300
    """Seconds a terminating server has to finish its streams."""

    cold_load_seconds: Annotated[int, Field(ge=60)] = 1800
    """Seconds a server may need to load its model before it counts as dead."""


class Ingress(Group):
    """The route of an instance."""

    class_name: OptionalName = ""
    """Class of every Ingress; empty: `traefik.ingressClass.name`. It must not be the cluster's default."""

    extra_annotations: Texts
    """Further annotations of every Ingress; those that make the route cannot be overridden."""


class Edge(Group):
    """How Traefik is asked to route."""

    namespaces: tuple[Namespace, ...] = ("traefik",)
    """Namespaces that Traefik runs in: their pods reach model servers and the ForwardAuth service. The
    release's namespace is one more when `traefik.enabled` is true."""

    entry_points: tuple[Name, ...] = ()
    """Traefik's entry points; empty: `websecure` for https and `web` for http."""

    middleware_separator: Literal["_", "-"] = "_"
    """`_` where Traefik runs with `providers.kubernetesCRD.safeNaming`, which it should; `-` without."""

    cors_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^\s,/]+$")], ...] = ()
    """Origins whose pages may call the API from a browser."""

    requests_per_minute: Count = 600
    """Requests a minute and key, unless the model says otherwise."""

    concurrent_requests: Count = 64
    """Requests at the same time and key, unless the model says otherwise."""

    address_requests_per_second: Annotated[int, Field(ge=0)] = 500
    """Requests a second and client address before keys are looked at; 0: no limit, for edges that see one
    address only."""

    trusted_proxies: Annotated[int, Field(ge=0)] = 0
    """Proxies in front of the edge that add to `X-Forwarded-For`; 0: the client is who connects."""


class Tokens(Group):
    """Keys and where the edge finds what it needs to check them."""

    namespace: OptionalNamespace = ""
    """Namespace of the verifiers; empty: the release's namespace without `-system`, and `-tokens`, such as
    `private-llm-tokens`. Two releases need two."""

    create_namespace: bool = True
    """Create it. It stays when the release is uninstalled."""

    longest_life: Duration = ""
    """Longest life of a key, such as `2160h`; empty: keys may live for ever."""

    last_use_seconds: Annotated[int, Field(ge=0)] = 300
    """Seconds between two looks at when keys were last used; 0: never look."""


class PlatformKey(Group):
    """The secret that the backend keys of all instances derive from."""

    existing_secret: OptionalName = ""
    """Secret with 32 or more characters under the key `platform-key`; empty: made at the first install and
    kept. Needed where manifests are rendered without a cluster (`helm template`, Argo CD)."""


class ModelCache(Group):
    """Where fetched weights are kept."""

    mode: Literal["ephemeral", "persistentVolumeClaim", "hostPath"] = "ephemeral"
    """In each pod, on a claim in the customer's namespace, or in a directory of the nodes that the platform
    fills."""

    claim: OptionalName = ""
    """Claim that you make in each customer's namespace and all models share; empty: the operator makes one
    for each model and namespace."""

    storage_class: OptionalName = ""
    """Class of the claims that the operator makes; empty: the cluster's default."""

    access_mode: Literal["ReadWriteOnce", "ReadWriteMany"] = "ReadWriteOnce"
    """How those claims may be mounted."""

    claim_size: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?([KMGTP]i?)?$")] = "20Gi"
    """Size of a claim whose model does not say its size."""

    directory: Annotated[str, Field(pattern=r"^/[^\x00-\x1f\x7f-\x9f]*$")] = (
        "/var/lib/private-llm/models"
    )
    """The nodes' directory of `hostPath`; the user 65532 must be able to write it."""

    hub_token_secret: OptionalName = ""
    """Secret in the release's namespace whose key `token` opens gated models; needs `hostPath`."""


class Limits(Group):
    """Upper bounds on what customers may ask for."""

    max_replicas: Count = 10
    """Largest `spec.replicas` of an instance."""

    max_instances: Count | None = None
    """Instances in one namespace; unset: any number."""

    max_token_requests: Count | None = None
    """Token requests in one namespace; unset: any number."""


class Watch(Group):
    """What the operator serves."""

    namespaces: tuple[Namespace, ...] = ()
    """Customers' namespaces; empty: all. When set, the operator has rights in these alone."""

    workers: Count = 20
    """Passes at the same time."""

    relist_seconds: Count = 600
    """Seconds between two full lists that correct what a broken watch missed."""

    sweep_seconds: Count = 60
    """Seconds between two looks at the catalogue's files and at orphaned keys."""


class Rbac(Group):
    """Rights beyond those that the operator always has."""

    secrets_in_all_namespaces: bool = False
    """Let the operator handle Secrets everywhere instead of in `onboardedNamespaces`; every Secret of the
    cluster is then one compromised operator away."""

    aggregate_roles: bool = True
    """Let namespace admins, editors and viewers use LLMInstances and APITokenRequests."""


class Switch(Group):
    """Something that can be left out."""

    enabled: bool = True
    """Render it."""


class Catalogue(Group):
    """The models that customers can choose; the operator applies them."""

    enabled: bool = True
    """Give the operator a catalogue. One release a cluster owns the models."""

    defaults: bool = True
    """Offer the models that come with the chart."""

    models: Annotated[dict[Name, dict[str, Any]], Field(default_factory=dict)]
    """Further models: the `spec` of an LLMModel by its name."""


class AdmissionPolicies(Group):
    """ValidatingAdmissionPolicies that keep namespace admins from other people's prompts."""

    enabled: bool = True
    """Render them. Without them a customer who may create Ingresses can read other customers' prompts."""

    break_glass_groups: Annotated[tuple[FilledLine, ...], Field(min_length=1)] = ("system:masters",)
    """Groups that may do what the operator may, and open shells in model pods. The default's members could
    remove the policies anyway."""

    further_operators: tuple[FilledLine, ...] = ()
    """User names of other releases' operators, such as
    `system:serviceaccount:other-system:private-llm-operator`."""

    further_platform_namespaces: tuple[Namespace, ...] = ()
    """Namespaces beside the release's and the edge's that are not customers'."""


class ServiceMonitor(Group):
    """Scraping by the Prometheus operator."""

    enabled: bool = False
    """Render ServiceMonitors; the cluster must have the kind."""

    interval: Duration = "30s"
    """How often metrics are read."""

    labels: Texts
    """Labels by which your Prometheus selects them."""


class Alerts(Group):
    """Alerts for the Prometheus operator."""

    enabled: bool = False
    """Render a PrometheusRule; the cluster must have the kind."""

    labels: Texts
    """Labels by which your Prometheus selects it."""


class Metrics(Group):
    """What is measured, and who may read it."""

    scraper_namespaces: tuple[Namespace, ...] = ("monitoring",)
    """Namespaces whose pods may read metrics."""

    service_monitor: ServiceMonitor = ServiceMonitor()
    """Scraping by the Prometheus operator."""

    alerts: Alerts = Alerts()
    """Alerts for the Prometheus operator."""


class Logs(Group):
    """How our processes speak."""

    format: Literal["json", "console"] = "json"
    """JSON lines or columns."""

    level: Literal["debug", "info", "warning", "error", "critical"] = "info"
    """Lowest level that is written."""


class ExtraCa(Group):
    """Certificates that our pods trust beside the system's."""

    config_map_name: OptionalName = ""
    """ConfigMap in the release's namespace with a full bundle; empty: the image's own roots."""

    key: FilledLine = "ca.crt"
    """Key of the bundle in it."""


class Proxy(Group):
    """Proxy variables of our pods. The fetcher of models uses no proxy; give it `server.mirror`."""

    http: Url = ""
    """`HTTP_PROXY`."""

    https: Url = ""
    """`HTTPS_PROXY`."""

    exceptions: tuple[FilledLine, ...] = ()
    """`NO_PROXY`; cluster-internal names are always in it when a proxy is set."""


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

    logs: Logs = Logs()
    """How our processes speak."""

    bind_host: FilledLine = "0.0.0.0"  # noqa: S104 - a pod listens on its own addresses
    """Address that our pods listen on: `::` in clusters with IPv6 alone, `$(POD_IP)` to leave out
    loopback."""

    pod_security_context: Annotated[
        dict[str, Any],
        Field(
            default_factory=lambda: {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "runAsGroup": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            }
        ),
    ]
    """Security context of our pods. Containers drop all capabilities and have a read-only root anyway."""

    extra_ca: ExtraCa = Field(default=ExtraCa(), alias="extraCA")
    """Certificates that our pods trust beside the system's."""

    proxy: Proxy = Proxy()
    """Proxy variables of our pods."""

    traefik: Traefik = Traefik()
    """A bundled minimal edge for a first look."""
