"""The parts of a Pod that the node reads, as frozen types.

Parsed once, when the API server sends the object. Fields that the node does not honour are absent on
purpose; a field whose silent loss would mislead is present so that :mod:`.pods.launch` can refuse it.
"""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from privatellm.errors import InvalidObjectError
from privatellm.kube import Manifest


class Part(BaseModel):
    """A piece of a Kubernetes object; names are camelCase on the wire, unknown fields are dropped."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True
    )


class KeyToPath(Part):
    """One key of a Secret or ConfigMap and the file it becomes."""

    key: str
    path: str


class FieldRef(Part):
    """A fact of the pod itself."""

    field_path: str


class ResourceFieldRef(Part):
    """A request or limit of a container."""

    resource: str
    container_name: str | None = None
    divisor: str = "1"


class KeyRef(Part):
    """One key of a Secret or ConfigMap."""

    name: str = ""
    key: str = ""
    optional: bool = False


class EnvVarSource(Part):
    """Where a variable's value comes from; exactly one is set."""

    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class EnvVar(Part):
    """One variable."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class EnvFromSource(Part):
    """Every key of a Secret or ConfigMap as variables."""

    prefix: str = ""
    config_map_ref: KeyRef | None = None
    secret_ref: KeyRef | None = None


class VolumeMount(Part):
    """Where a container expects a volume."""

    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""


class HTTPHeader(Part):
    """One header of an HTTP probe."""

    name: str
    value: str


class HTTPGetAction(Part):
    """A probe that wants a 2xx or 3xx answer."""

    path: str = "/"
    port: int | str
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HTTPHeader, ...] = ()


class TCPSocketAction(Part):
    """A probe that wants an open port."""

    port: int | str
    host: str = ""


class ExecAction(Part):
    """A probe that runs a program; the node does not run programs of a pod's choice."""

    command: tuple[str, ...] = ()


class Probe(Part):
    """How to ask a container whether it works; times are in seconds."""

    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    exec_: ExecAction | None = Field(default=None, alias="exec")
    grpc: dict[str, Any] | None = None
    initial_delay_seconds: float = 0
    period_seconds: float = 10
    timeout_seconds: float = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: float | None = None


class SleepAction(Part):
    """A pause before the container is told to stop."""

    seconds: float = 0


class LifecycleHandler(Part):
    """What happens before a container is told to stop; pauses and ``httpGet`` are honoured."""

    sleep: SleepAction | None = None
    http_get: HTTPGetAction | None = None


class Lifecycle(Part):
    """Hooks of a container."""

    pre_stop: LifecycleHandler | None = None


class ContainerPort(Part):
    """A port the container says it listens on."""

    name: str = ""
    container_port: int


class Resources(Part):
    """Requests and limits as quantities."""

    requests: dict[str, str] = Field(default_factory=dict)
    limits: dict[str, str] = Field(default_factory=dict)


class Container(Part):
    """One container, init or not."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFromSource, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: Resources = Resources()
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    restart_policy: str | None = None
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: Literal["File", "FallbackToLogsOnError"] = "File"

    @property
    def pause_before_stop(self) -> float:
        """Seconds between the decision to stop the container and its SIGTERM."""
        hook = self.lifecycle.pre_stop
        return hook.sleep.seconds if hook and hook.sleep else 0.0

    @property
    def call_before_stop(self) -> HTTPGetAction | None:
        """The request whose answer is awaited before the container's SIGTERM."""
        hook = self.lifecycle.pre_stop
        return hook.http_get if hook else None

    def port_number(self, port: int | str) -> int | None:
        """Return the number of a port given by number or by name."""
        if isinstance(port, int):
            return port
        return next((p.container_port for p in self.ports if p.name == port), None)


class KeyedSource(Part):
    """A Secret or ConfigMap volume, alone or inside a projected one."""

    name: str = ""
    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False

    @property
    def object_name(self) -> str:
        """Name of the Secret or ConfigMap; Secret volumes spell the field differently."""
        return self.secret_name or self.name


class DownwardFile(Part):
    """One file of a downward-API volume."""

    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None


class DownwardSource(Part):
    """Facts of the pod as files."""

    items: tuple[DownwardFile, ...] = ()


class TokenSource(Part):
    """A service-account token as a file."""

    path: str
    audience: str = ""
    expiration_seconds: int = 3600


class Projection(Part):
    """One source of a projected volume."""

    secret: KeyedSource | None = None
    config_map: KeyedSource | None = None
    downward_api: DownwardSource | None = Field(default=None, alias="downwardAPI")
    service_account_token: TokenSource | None = None


class ProjectedVolume(Part):
    """Several sources in one directory."""

    sources: tuple[Projection, ...] = ()


class HostPathVolume(Part):
    """A directory or file of this machine."""

    path: str
    type: str = ""


class ClaimVolume(Part):
    """A claimed volume."""

    claim_name: str


class Volume(Part):
    """A volume; of the fields besides the name at most one is set."""

    name: str
    empty_dir: dict[str, Any] | None = None
    secret: KeyedSource | None = None
    config_map: KeyedSource | None = None
    downward_api: DownwardSource | None = Field(default=None, alias="downwardAPI")
    projected: ProjectedVolume | None = None
    host_path: HostPathVolume | None = None
    persistent_volume_claim: ClaimVolume | None = None


class PodSpec(Part):
    """What the pod shall be."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: Literal["Always", "OnFailure", "Never"] = "Always"
    service_account_name: str = "default"
    node_name: str = ""
    termination_grace_period_seconds: float = 30


class Metadata(Part):
    """Who the pod is."""

    name: str
    namespace: str
    uid: str
    generation: int | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: float | None = None


class TerminatedStatus(Part):
    """How a container's run ended, as reported earlier."""

    exit_code: int = 0
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class StateStatus(Part):
    """What a container did, as reported earlier."""

    running: dict[str, Any] | None = None
    terminated: TerminatedStatus | None = None


class ContainerStatus(Part):
    """A container's state as the API server has it."""

    name: str
    restart_count: int = 0
    state: StateStatus = StateStatus()
    last_state: StateStatus = StateStatus()


class Condition(Part):
    """One condition as reported earlier; its time stays text, because it is only ever sent back."""

    type: str
    status: str = "Unknown"
    last_transition_time: str | None = None


class PodStatus(Part):
    """The pod's state as the API server has it."""

    phase: str = "Pending"
    pod_ip: str = Field(default="", alias="podIP")
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Part):
    """One pod."""

    metadata: Metadata
    spec: PodSpec
    status: PodStatus = PodStatus()

    @classmethod
    def parse(cls, manifest: Manifest) -> Self:
        """Read an object of the API server.

        Raises:
            InvalidObjectError: when it is not the Pod that its kind promises.
        """
        try:
            return cls.model_validate(manifest)
        except ValidationError as error:
            name = manifest.get("metadata", {}).get("name", "?")
            raise InvalidObjectError(
                f"Pod {name} does not fit the node's types: {error}"
            ) from error

    @property
    def label(self) -> str:
        """How people name it: ``namespace/name``."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def terminating(self) -> bool:
        """Somebody asked for its deletion."""
        return self.metadata.deletion_timestamp is not None

    @property
    def finished(self) -> bool:
        """It ran to its end and must never be started again."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def grace_seconds(self) -> float:
        """How long its containers may take to end."""
        asked = self.metadata.deletion_grace_period_seconds
        return self.spec.termination_grace_period_seconds if asked is None else asked

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """Init containers first."""
        return self.spec.init_containers + self.spec.containers
