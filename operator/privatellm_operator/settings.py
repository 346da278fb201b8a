"""What the platform team decides, read from the environment once and frozen.

Groups keep related decisions together; a group's prefix and a field's name make the variable's name, so
``edge.auth_address`` is ``PRIVATE_LLM_AUTH_ADDRESS`` and ``public.host`` is ``PUBLIC_HOST``. Nothing here
depends on the cluster being a real one or the embedded environment.
"""

import ipaddress
import ssl
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)
from pydantic.alias_generators import to_camel
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from privatellm.errors import InvalidInputError
from privatellm.public_host import PublicHost
from privatellm.telemetry.logs import LogFormat, LogLevel

PREFIX = "PRIVATE_LLM_"


def _words(value: Any) -> Any:
    """Split a comma-separated list; anything else passes through to validation."""
    if not isinstance(value, str):
        return value
    return tuple(word.strip() for word in value.split(",") if word.strip())


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
"""A list that the environment carries with commas between its words."""


def _public_host(text: str) -> str:
    PublicHost.parse(text)
    return text


class PublicSettings(BaseSettings):
    """Where customers find the edge."""

    model_config = SettingsConfigDict(env_prefix="PUBLIC_", frozen=True)

    host: Annotated[str, AfterValidator(_public_host)] = "localhost"
    """``host`` or ``host:port`` in the URLs that customers get."""

    scheme: Literal["http", "https"] = "https"
    """Scheme of those URLs; ``https`` also asks Traefik for TLS on every route."""

    @property
    def rule_host(self) -> str | None:
        """The host an Ingress rule may carry: without port, and none for an IP address."""
        name = PublicHost.parse(self.host).name
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name
        return None


class PodSettings(BaseSettings):
    """Who this process is; the downward API fills it in."""

    model_config = SettingsConfigDict(env_prefix="POD_", frozen=True)

    namespace: str = "private-llm-system"
    """Namespace of the operator, its Lease and the shared middlewares."""

    name: str = ""
    """Name of the pod, for the Lease and for events; empty uses the host's name."""

    ip: str = ""
    """Address of the pod."""


class EdgeSettings(BaseSettings):
    """How Traefik is asked to route, and what it checks."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    auth_address: str = "http://private-llm-authserver.private-llm-system.svc:8090"
    """Base URL of the ForwardAuth service's verify port."""

    ingress_class: str = "traefik"
    """Class of every Ingress; must not be the cluster's default class."""

    entry_points: Words = ("websecure",)
    """Traefik entry points that serve the instances."""

    middleware_separator: Literal["_", "-"] = "_"
    """What joins namespace and name in a middleware reference: ``_`` with ``safeNaming``, else ``-``."""

    ingress_annotations: dict[str, str] = Field(default_factory=dict)
    """Further annotations of every Ingress, as a JSON object."""

    cors_origins: Words = ()
    """Origins whose pages may call the API from a browser; empty: none."""

    requests_per_minute: int = Field(default=600, ge=1)
    """Requests a minute and key, unless the model says otherwise; a second's worth may come at once."""

    concurrent_requests: int = Field(default=64, ge=1)
    """Requests at the same time and key, unless the model says otherwise."""

    address_requests_per_second: int = Field(default=500, ge=0)
    """Requests a second and client address before keys are looked at, so that one address cannot keep the
    check busy; a second's worth may come at once. 0: no limit, for edges that see one address only."""

    trusted_proxies: int = Field(default=0, ge=0)
    """Proxies in front of the edge that add to ``X-Forwarded-For``, whose addresses Traefik must trust; the
    entry that the outermost one added is the client. 0: the client is who connects."""

    edge_namespaces: Words = ("traefik",)
    """Namespaces whose pods may reach model servers: where Traefik runs."""

    scraper_namespaces: Words = ("monitoring",)
    """Namespaces whose pods may scrape the model servers' metrics."""


class TokenSettings(BaseSettings):
    """Keys and what is kept about them."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    token_namespace: str = "private-llm-tokens"  # noqa: S105 - the name of a namespace
    """Namespace of the verifiers; nobody but operator and authserver reads it."""

    platform_key_file: Path = Path("/etc/private-llm/platform-key")
    """File with the secret that backend keys derive from."""

    longest_token_life: str | None = None
    """Longest life of a key, such as ``2160h``; absent: keys may live for ever."""


class LastUseSettings(BaseSettings):
    """How the operator learns when keys were last used."""

    model_config = SettingsConfigDict(env_prefix=f"{PREFIX}LAST_USE_", frozen=True)

    seconds: float = Field(default=300.0, ge=0)
    """Seconds between two questions to the authserver, and so the least time between two writes of a key's
    ``lastUsedAt``. Raise it where tens of thousands of keys are in use. 0: never ask."""

    selector: str = "app.kubernetes.io/name=private-llm-authserver"
    """Label selector of the authserver's pods in the operator's namespace; each of them is asked."""

    port: int = Field(default=8091, ge=1, le=65535)
    """The authserver's admin port."""


class ModelMetricsSettings(BaseSettings):
    """How the operator learns what model servers measure."""

    model_config = SettingsConfigDict(env_prefix=f"{PREFIX}MODEL_METRICS_", frozen=True)

    seconds: float = Field(default=30.0, ge=0)
    """Seconds between two questions to each model server for its figures; longer when there are so many
    servers that more than 25 a second would have to be asked. 0: never ask."""


class NodeClass(BaseModel):
    """Where the servers of some models run; the fields are those of a pod's spec."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )

    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels that a node must have."""

    tolerations: tuple[dict[str, str | int], ...] = ()
    """Taints of nodes that do not keep the servers away."""

    priority_class_name: str = ""
    """Priority of the pods; empty: the cluster's default."""

    runtime_class_name: str = ""
    """Runtime of the containers, such as one for GPUs; empty: the cluster's default."""


class ServerSettings(BaseSettings):
    """What runs in the pods of an instance."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    server_image: str = "ghcr.io/ggml-org/llama.cpp:server"
    """Image of the model server; pin a digest in production."""

    fetcher_image: str = "ghcr.io/private-llm/operator:latest"
    """Image with the ``privatellm-fetch`` command."""

    image_pull_secrets: Words = ()
    """Names of pull secrets that exist in the tenants' namespaces."""

    allow_file_sources: bool = False
    """Let models come from ``file://`` URLs; for development machines."""

    allow_private_sources: bool = False
    """Let models come from hosts with private or link-local addresses."""

    mirror: str = ""
    """Base URL that replaces the hub's; empty: the hub itself."""

    node_classes: dict[str, NodeClass] = Field(default_factory=dict)
    """Where servers run, by the ``nodeClass`` of their models, as a JSON object."""

    grace_period_seconds: int = Field(default=300, ge=5)
    """Time a terminating server has to finish its streams."""

    cold_load_seconds: int = Field(default=1800, ge=60)
    """Time a server may need to load its model before it counts as dead."""


MOST_CERTIFICATES = 65536
"""Characters of certificates. The Secret of every instance carries them."""


def _certificates(value: Any) -> Any:
    """Read the named file; an empty name is no file.

    What it holds goes into customers' namespaces, so it may be certificates and nothing else.
    """
    path = str(value)
    if not path:
        return ""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError.
        raise ValueError(f"it must name a file with certificates in PEM form ({error})") from error
    if "PRIVATE KEY-----" in text:
        raise ValueError(
            "it must hold no private key, because customers' namespaces get a copy; "
            "leave the certificates alone in it, and replace the key"
        )
    if len(text) > MOST_CERTIFICATES:
        raise ValueError(
            f"it may hold {MOST_CERTIFICATES} characters; this one has {len(text)}. "
            "Leave the public authorities out: fetchers trust them anyway"
        )
    return text


def _named_with_file(value: str, others: ValidationInfo) -> str:
    """Refuse a file without the ConfigMap that it comes from."""
    if others.data.get("file") and not value:
        raise ValueError("it must name the ConfigMap of the file, because Jobs mount it")
    return value


class ExtraCaSettings(BaseSettings):
    """Whom fetchers trust beside the authorities of their image."""

    model_config = SettingsConfigDict(env_prefix=f"{PREFIX}EXTRA_CA_", frozen=True)

    file: Annotated[str, BeforeValidator(_certificates)] = ""
    """File with certificates in PEM form, read once at start; empty: nobody else. The Secret of every
    instance carries a copy, so it holds your own authorities and not the public ones."""

    config_map: Annotated[str, AfterValidator(_named_with_file)] = ""
    """ConfigMap in the operator's namespace with the same file, for the platform's own fetches."""

    config_map_key: str = "ca.crt"
    """Key of the file in it."""


class CacheMode(StrEnum):
    """Where fetched weights are kept."""

    EPHEMERAL = "ephemeral"
    """In the pod; each pod fetches for itself."""

    CLAIM = "persistentVolumeClaim"
    """On a claim in the instance's namespace; a restarted pod finds the weights there."""

    HOST_PATH = "hostPath"
    """In a directory of the nodes that the platform fills; all tenants read the same file."""


class CacheSettings(BaseSettings):
    """Where weights are kept, and who may fetch them."""

    model_config = SettingsConfigDict(env_prefix=f"{PREFIX}CACHE_", frozen=True)

    mode: CacheMode = CacheMode.EPHEMERAL
    """Where weights are kept; a model on a claim of its own is copied into the pod in every mode."""

    claim: str = ""
    """Name of a claim that the platform team makes in each tenant's namespace and that all models share;
    empty: the operator makes one for each model and namespace, and frees it after its last user."""

    storage_class: str = ""
    """Class of the claims that the operator makes; empty: the cluster's default."""

    access_mode: Literal["ReadWriteOnce", "ReadWriteMany"] = "ReadWriteOnce"
    """How those claims may be mounted. With ``ReadWriteOnce`` all servers of a model in one namespace run
    on one node."""

    claim_size: str = "20Gi"
    """Size of a claim whose model does not declare ``sizeBytes``."""

    directory: str = "/var/lib/private-llm/models"
    """The nodes' directory of ``hostPath``; the fetcher's user (65532) must be able to write it."""

    hub_token_secret: str = ""
    """Secret in the operator's namespace whose key ``token`` opens gated models. It is mounted into the
    platform's own fetch Jobs and nowhere else, so gated models need ``hostPath``."""


class CapSettings(BaseSettings):
    """Upper bounds on what customers may ask for."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    max_replicas: int = Field(default=10, ge=1)
    """Largest ``spec.replicas`` of an instance."""

    max_instances: int | None = Field(default=None, ge=1)
    """Instances in one namespace; absent: any number."""

    max_token_requests: int | None = Field(default=None, ge=1)
    """Token requests in one namespace; absent: any number."""


class WatchSettings(BaseSettings):
    """What is watched and how hard the operator works."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    namespaces: Words = ()
    """Tenants' namespaces to serve; empty: all of the cluster. Orders in others are seen and left alone."""

    catalogue_directory: Path | None = None
    """Directory with ``LLMModel`` files that the operator applies."""

    workers: int = Field(default=20, ge=1)
    """Passes at the same time; more than 20 gained nothing in measurements."""

    relist_seconds: float = Field(default=600.0, gt=0)
    """Seconds between two full lists that correct what a broken watch missed."""

    sweep_seconds: float = Field(default=60.0, gt=0)
    """Seconds between two looks at the catalogue's files and at other outside state."""


class ListenerSettings(BaseSettings):
    """Where probes and metrics are served."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    bind_host: str = "0.0.0.0"  # noqa: S104 - a pod listens on its own address
    """Address of the listener."""

    metrics_port: int = Field(default=8080, ge=0, le=65535)
    """Port of ``/healthz``, ``/readyz`` and ``/metrics``; 0 lets the system choose."""


class LogSettings(BaseSettings):
    """How the process speaks."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    log_format: LogFormat = LogFormat.JSON
    """JSON lines or columns."""

    log_level: LogLevel = LogLevel.INFO
    """Lowest level that is written."""


class Settings(BaseModel):
    """Everything above, in one value."""

    model_config = ConfigDict(frozen=True)

    public: PublicSettings = Field(default_factory=PublicSettings)
    pod: PodSettings = Field(default_factory=PodSettings)
    edge: EdgeSettings = Field(default_factory=EdgeSettings)
    tokens: TokenSettings = Field(default_factory=TokenSettings)
    last_use: LastUseSettings = Field(default_factory=LastUseSettings)
    model_metrics: ModelMetricsSettings = Field(default_factory=ModelMetricsSettings)
    servers: ServerSettings = Field(default_factory=ServerSettings)
    extra_ca: ExtraCaSettings = Field(default_factory=ExtraCaSettings)
    cache: CacheSettings = Field(default_factory=CacheSettings)
    caps: CapSettings = Field(default_factory=CapSettings)
    watch: WatchSettings = Field(default_factory=WatchSettings)
    listener: ListenerSettings = Field(default_factory=ListenerSettings)
    logs: LogSettings = Field(default_factory=LogSettings)

    @classmethod
    def of_environment(cls) -> Self:
        """Read the environment.

        Raises:
            InvalidInputError: naming each variable that breaks its rule.
        """
        try:
            return cls()
        except ValidationError as error:
            raise InvalidInputError(f"The environment does not fit: {_faults(error)}.") from error

    @property
    def tenant_namespaces(self) -> tuple[str | None, ...]:
        """The namespaces to list and watch; ``None`` stands for all of them."""
        return self.watch.namespaces or (None,)


GROUPS: tuple[type[BaseSettings], ...] = (
    PublicSettings,
    PodSettings,
    EdgeSettings,
    TokenSettings,
    LastUseSettings,
    ModelMetricsSettings,
    ServerSettings,
    ExtraCaSettings,
    CacheSettings,
    CapSettings,
    WatchSettings,
    ListenerSettings,
    LogSettings,
)
"""Every group of settings, in the order in which people read about them."""


def _faults(error: ValidationError) -> str:
    """Name the variables, because a person sets variables and not fields."""
    prefix = {group.__name__: group.model_config.get("env_prefix", "") for group in GROUPS}
    return "; ".join(
        f"{prefix.get(error.title, '')}{'_'.join(map(str, fault['loc']))}".upper()
        + f": {fault['msg']}, got {fault['input']!r}"
        for fault in error.errors(include_url=False)
    )
