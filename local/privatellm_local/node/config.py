"""What the agent is told: one JSON file, read once.

Ranges, ports and certificates are chosen by whoever starts the environment; the agent invents none of
them. Paths must be absolute, because the agent's working directory means nothing.
"""

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from privatellm.telemetry.logs import LogLevel
from privatellm_local.node.errors import NodeStartError


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError(f"must be an absolute path, got {path}")
    return path


def _loopback(network: IPv4Network) -> IPv4Network:
    if not network.is_loopback:
        raise ValueError(f"must lie within 127.0.0.0/8, got {network}")
    return network


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
LoopbackNetwork = Annotated[IPv4Network, AfterValidator(_loopback)]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ImageEntry(_Settings):
    """One program that pods may run."""

    image: str
    """Repository without tag or digest, such as ``ghcr.io/ggml-org/llama.cpp``."""

    command: tuple[str, ...] | None = None
    """The container's ``command`` that selects this entry; ``None`` when it must have none."""

    exec: tuple[str, ...] = Field(min_length=1)
    """What is executed; the container's args follow it."""


class Capacity(_Settings):
    """What the scheduler may hand out, as Kubernetes quantities; nothing of it is enforced."""

    cpu: str = "8"
    memory: str = "16Gi"
    pods: str = "250"
    ephemeral_storage: str = Field(default="100Gi", alias="ephemeral-storage")


class Timings(_Settings):
    """How long the node waits for what, in seconds. The defaults suit a laptop."""

    restart_backoff: float = Field(default=1.0, gt=0)
    """Pause before the second restart of a crashing container; it doubles every time."""

    restart_backoff_limit: float = Field(default=30.0, gt=0)
    """The longest such pause (a kubelet's is 300)."""

    restart_backoff_reset: float = Field(default=120.0, gt=0)
    """A container that ran this long starts again without a pause."""

    retry: float = Field(default=2.0, gt=0)
    """Pause after a refused container, a port that is taken, or an API server that is away."""

    volume_refresh: float = Field(default=15.0, gt=0)
    """How often mounted Secrets, ConfigMaps and tokens are brought up to date."""

    lease_renewal: float = Field(default=10.0, gt=0)
    """How often the node says that it is alive."""

    status_report: float = Field(default=60.0, gt=0)
    """How often the node's status is posted although nothing changed."""

    shutdown_grace: float = Field(default=3.0, ge=0)
    """How long pods may take to end when the agent itself is told to stop."""


class NodeConfig(_Settings):
    """Everything the agent needs to know."""

    kubeconfig: AbsolutePath
    """Credentials of the node: an administrator's, or ``system:node`` rights plus volumes."""

    node_name: str = "host"
    """Name of the Node object."""

    root_dir: AbsolutePath
    """Where volumes, logs and working directories live; created with mode 0700."""

    pod_cidr: LoopbackNetwork
    """Range of the pods' addresses, such as ``127.101.0.0/16``."""

    service_cidr: LoopbackNetwork
    """Range of the cluster IPs; Services outside of it are not served."""

    service_proxy_name: str = ""
    """Serve the Services whose label ``service.kubernetes.io/service-proxy-name`` is this; those without
    it by default. Two nodes on one machine would otherwise want the same ports."""

    provisioner: str = "llm.privatellms.msp/host-node"
    """What a StorageClass names to have the volumes of its claims made by this node."""

    kubelet_address: IPv4Address
    """Where ``kubectl logs`` reaches the node through the API server."""

    kubelet_port: int = Field(gt=1023, lt=65536)
    serving_cert: AbsolutePath
    serving_key: AbsolutePath

    client_ca: AbsolutePath
    """Signers of the client certificates that may ask for logs, subject to a SubjectAccessReview."""

    api_server: str
    """Base URL that pods are given, such as ``https://127.0.0.1:6443``."""

    ca_file: AbsolutePath
    """The CA of ``api_server``."""

    images: tuple[ImageEntry, ...]
    capacity: Capacity = Capacity()
    host_path_roots: tuple[AbsolutePath, ...] = ()
    """Directories below which ``hostPath`` volumes are allowed."""

    timings: Timings = Timings()
    log_level: LogLevel = LogLevel.INFO

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the file.

        Raises:
            NodeStartError: when it cannot be read or breaks a rule above.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            raise NodeStartError(
                f"The node's configuration {path} cannot be used: {error}"
            ) from error
