"""Values of our own parts: images, operator, ForwardAuth service, and how they are reached."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from privatellm_local.packaging.placement import Placement, Resources
from privatellm_local.packaging.value_types import (
    Address,
    Count,
    FilledLine,
    Group,
    Host,
    Member,
    OptionalName,
    Percentage,
    Reference,
    Texts,
    Url,
)


class Globals(Group):
    """Values that an umbrella chart shares with all its charts."""

    # Other charts of the umbrella have globals of their own.
    model_config = ConfigDict(extra="allow")


class PublicGlobals(Globals):
    """Where customers find the edge, for all charts of an umbrella."""

    public_host: Host = ""
    """Used where `PUBLIC_HOST` is not set."""

    public_scheme: Literal["", "http", "https"] = ""
    """Used where `PUBLIC_SCHEME` is not set."""


class ImageGlobals(Globals):
    """Where images come from, for all charts of an umbrella."""

    image_registry: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:/_-]*$")] = ""
    """Registry that replaces the one in every image, for mirrors and disconnected sites."""

    image_pull_secrets: tuple[Reference, ...] = ()
    """Further pull secrets of our own pods."""


class Global(ImageGlobals, PublicGlobals):
    """Values that an umbrella chart shares with all its charts."""


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
    """Render a PodDisruptionBudget; never for a single pod, which it would tie to its node."""

    min_available: Annotated[int, Field(ge=0)] | Percentage = 1
    """Pods that stay, or a percentage."""


class Authserver(Placement):
    """The ForwardAuth service's pods: every request of every customer asks one of them."""

    image: Image = Image(repository="ghcr.io/private-llm/authserver")
    """Image of the ForwardAuth service."""

    replicas: Annotated[int, Field(ge=0)] | None = 2
    """Pods; `null` leaves the number to an autoscaler or to `kubectl scale`."""

    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Processes in a pod. Each can fill a core and holds its own index: about 60 MB, and 45 MB more per
    100 000 keys. Raise it, and `resources` with it, where a pod uses up a core."""

    max_staleness_seconds: Annotated[int, Field(ge=1)] = 60
    """How long the last good index is used without word from the API server; then requests get 503."""

    drain_seconds: Annotated[int, Field(ge=0, le=25)] = 3
    """Seconds a terminating pod goes on answering while the edge takes notice. Its grace period is
    27 seconds longer."""

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


class ExtraCa(Group):
    """Certificates that our pods trust beside the system's."""

    config_map_name: OptionalName = ""
    """ConfigMap in the release's namespace with a full bundle; empty: the image's own roots."""

    key: FilledLine = "ca.crt"
    """Key of the bundle in it."""


class OwnAuthorities(ExtraCa):
    """Certificates of the platform's own authorities."""

    config_map_name: OptionalName = ""
    """ConfigMap in the release's namespace with certificates in PEM form, 64 KiB at most and without the
    public authorities; empty: nobody else is trusted."""


class Proxy(Group):
    """Proxy variables of operator and ForwardAuth service."""

    http: Url = ""
    """`HTTP_PROXY`."""

    https: Url = ""
    """`HTTPS_PROXY`."""

    exceptions: tuple[FilledLine, ...] = ()
    """`NO_PROXY`; cluster-internal names are always in it when a proxy is set."""
