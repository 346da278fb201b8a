"""The values of ``charts/private-llm-sync-agent``, as types.

Every flag of the agent can be reached from here. The agent's namespace is the release's and no value; what
the agent may do follows from what it publishes.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from privatellm_local.packaging.chart import Chart
from privatellm_local.packaging.part_values import (
    EnvironmentVariable,
    ExtraCa,
    Image,
    ImageGlobals,
)
from privatellm_local.packaging.placement import Placement, PodSecurityContext, Resources
from privatellm_local.packaging.telemetry_values import Alerts, OtelExport, ServiceMonitor
from privatellm_local.packaging.value_types import (
    FilledLine,
    Group,
    Line,
    Member,
    Name,
    Namespace,
    OptionalName,
    OptionalNamespace,
    Reference,
    Switch,
    Url,
)


class KcpKubeconfig(Group):
    """The Secret with the kubeconfig of kcp. You make it; a credential does not belong into values."""

    name: Name = "private-llm-kcp"
    """Its name, in the release's namespace."""

    key: FilledLine = "kubeconfig"
    """Key of the kubeconfig in it. The kubeconfig carries its certificates and tokens itself."""


HostAndPort = Annotated[str, Field(pattern=r"^([^\s:/@=,]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$")]
"""A host, and the port behind it."""


class Kcp(Group):
    """The kcp whose workspaces are served."""

    kubeconfig_secret: KcpKubeconfig = KcpKubeconfig()
    """The Secret with the kubeconfig; its server names the provider's workspace."""

    endpoint_slice: Name = "llm.privatellms.msp"
    """APIExportEndpointSlice in that workspace; kcp gives it the name of the APIExport."""

    endpoint_overrides: Annotated[dict[HostAndPort, HostAndPort], Field(default_factory=dict)]
    """Hosts of kcp's shards that pods of this cluster reach under another one: `host:port` by the
    `host:port` in the slice's status."""


class ServiceKubeconfig(Group):
    """A kubeconfig of the service cluster, where that is not the cluster of the release."""

    name: OptionalName = ""
    """Secret with it, in the release's namespace; empty: the pod's own service account."""

    key: FilledLine = "kubeconfig"
    """Key of the kubeconfig in it."""


class CaConfigMap(Group):
    """A ConfigMap with certificates."""

    name: OptionalName = ""
    """Its name, in the release's namespace; empty: none."""

    key: FilledLine = "ca.crt"
    """Key of the certificates in it."""


class ServiceCluster(Group):
    """The cluster that runs the LLMs."""

    kubeconfig_secret: ServiceKubeconfig = ServiceKubeconfig()
    """A kubeconfig of the service cluster, where that is not the cluster of the release."""

    host_override: Url = ""
    """URL that replaces the one of the credentials."""

    ca_override: CaConfigMap = CaConfigMap()
    """Certificates that replace those of the credentials."""


class PublishedResources(Group):
    """What is published, applied by the agent itself."""

    enabled: bool = True
    """Give the agent the PublishedResources of LLMInstance and APITokenRequest. One release a service
    cluster owns them; they stay when it is uninstalled."""

    further: Annotated[dict[Name, dict[str, Any]], Field(default_factory=dict)]
    """Further PublishedResources: the `spec` by its name. The agent needs `rbac.furtherRules` for them. The
    name of one of ours replaces its `spec` and keeps what guards it."""

    selector: Line = ""
    """Label selector of the PublishedResources that this agent handles; empty: all. Ours have no labels."""


class Onboarding(Group):
    """How the local namespaces that the agent makes are onboarded, so that customers get their keys."""

    operator_namespace: OptionalNamespace = ""
    """Namespace of the operator's release. The agent binds the role
    `private-llm-operator-tenant.<namespace>` to the operator in each namespace that it makes, and may bind
    no other; empty: you onboard them otherwise."""


class Rule(Member):
    """A rule of a ClusterRole."""

    api_groups: Annotated[tuple[Line, ...], Field(min_length=1)]
    """Groups of the API."""

    resources: Annotated[tuple[FilledLine, ...], Field(min_length=1)]
    """Resources."""

    verbs: Annotated[tuple[FilledLine, ...], Field(min_length=1)]
    """Verbs."""


class AgentRights(Group):
    """Rights beyond those that our two kinds need."""

    further_rules: tuple[Rule, ...] = ()
    """Rules for `publishedResources.further`, or to `list` and `delete` namespaces of workspaces that are
    gone."""


class HostAlias(Member):
    """An entry of `/etc/hosts`."""

    ip: FilledLine
    """Address."""

    hostnames: Annotated[tuple[FilledLine, ...], Field(min_length=1)]
    """Names of it."""


class AgentPods(Placement):
    """The agent's pods."""

    replicas: Annotated[int, Field(ge=0)] | None = None
    """Pods; one leads and the others stand by, so more than one needs `leaderElection`. Rendered only when
    set; unset, Kubernetes makes it 1."""

    resources: Resources = Resources.of(cpu="50m", memory="128Mi", memory_limit="512Mi")
    """Requests and limits."""

    host_aliases: tuple[HostAlias, ...] = ()
    """Entries of `/etc/hosts`, for a kcp whose names no DNS knows."""

    extra_env: tuple[EnvironmentVariable, ...] = ()
    """Further variables of the container."""


class AgentLogs(Group):
    """How the agent speaks."""

    format: Literal["json", "console"] = "json"
    """JSON lines or columns."""

    debug: bool = False
    """Write debug lines as well."""


class AgentMetrics(Group):
    """What is measured, and who may read it."""

    enabled: bool = True
    """Serve metrics on port 8085."""

    scraper_namespaces: tuple[Namespace, ...] = ("monitoring",)
    """Namespaces whose pods may read metrics."""

    service_monitor: ServiceMonitor = ServiceMonitor()
    """Scraping by the Prometheus operator."""

    alerts: Alerts = Alerts()
    """Alerts for the Prometheus operator."""


class SyncAgentValues(Group):
    """Every value of the chart."""

    global_: ImageGlobals = Field(default=ImageGlobals(), alias="global")
    """Values that an umbrella chart shares with all its charts."""

    image: Image = Image(repository="ghcr.io/private-llm/sync-agent")
    """Image of the agent."""

    image_pull_secrets: tuple[Reference, ...] = ()
    """Pull secrets of the agent's pods, in the release's namespace."""

    kcp: Kcp = Kcp()
    """The kcp whose workspaces are served."""

    agent_name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")] = "private-llm"
    """Name of the agent. Never change it later: it is part of every mark and of the finalizer. Two agents
    of one service cluster need two."""

    service_cluster: ServiceCluster = ServiceCluster()
    """The cluster that runs the LLMs: the release's own, unless another one is named."""

    published_resources: PublishedResources = PublishedResources()
    """What is published, applied by the agent itself."""

    onboarding: Onboarding = Onboarding()
    """How the local namespaces that the agent makes are onboarded, so that customers get their keys."""

    disabled_controllers: tuple[Literal["apiexport", "apiresourceschema", "sync"], ...] = ()
    """Parts of the agent that are switched off."""

    leader_election: bool = True
    """Take a Lease in the release's namespace first."""

    agent: AgentPods = AgentPods()
    """The agent's pods."""

    crds: Switch = Switch()
    """The CustomResourceDefinition of PublishedResource. One release a cluster owns it, and no upstream
    agent's chart beside it; it stays when the release is uninstalled."""

    rbac: AgentRights = AgentRights()
    """Rights beyond those that our two kinds need."""

    network_policies: Switch = Switch()
    """The NetworkPolicy of the agent."""

    metrics: AgentMetrics = AgentMetrics()
    """What is measured, and who may read it."""

    otel: OtelExport = OtelExport()
    """Traces of the passes over an order, in the trace that the operator continues, sent by OTLP. Further
    variables of the OpenTelemetry specification go into `agent.extraEnv`."""

    logs: AgentLogs = AgentLogs()
    """How the agent speaks."""

    bind_host: FilledLine = "0.0.0.0"  # noqa: S104 - a pod listens on its own addresses
    """Address that the pods listen on: `::` in clusters with IPv6 alone, `$(POD_IP)` to leave out
    loopback."""

    pod_security_context: PodSecurityContext
    """Security context of the pods. The container drops all capabilities and has a read-only root
    anyway."""

    extra_ca: ExtraCa = Field(default=ExtraCa(), alias="extraCA")
    """Certificates that the agent trusts instead of the system's, for kubeconfigs that carry none and for
    the collector of traces."""


SYNC_AGENT = Chart(
    name="private-llm-sync-agent",
    values=SyncAgentValues,
    source="sync_agent_values.py",
    page="sync-agent-chart-values.md",
    guide=(
        "[Install the sync agent with Helm](../how-to/sync-agent-helm.md)\nsays how to install."
    ),
)
