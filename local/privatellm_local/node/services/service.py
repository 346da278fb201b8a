"""What a Service asks for: addresses to listen on, and the ready pods behind them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address

from pydantic import Field

from privatellm.kube import Manifest
from privatellm_local.node.pod import Part
from privatellm_local.node.registry import LocalPod

PROXY_NAME_LABEL = "service.kubernetes.io/service-proxy-name"
"""Kubernetes' label for Services that another than the default proxy serves."""


@dataclass(frozen=True, slots=True, order=True)
class Listen:
    """Where connections come in."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Target:
    """Which pods connections go to, and to which of their ports."""

    namespace: str
    selector: Mapping[str, str]
    port: int | str


@dataclass(frozen=True, slots=True)
class Backend:
    """One ready pod."""

    pod_uid: str
    address: str
    port: int


class _ServicePort(Part):
    port: int
    target_port: int | str | None = None
    protocol: str = "TCP"


class _ServiceSpec(Part):
    cluster_ip: str = Field(default="", alias="clusterIP")
    selector: dict[str, str] = Field(default_factory=dict)
    ports: tuple[_ServicePort, ...] = ()


class _Metadata(Part):
    namespace: str
    labels: dict[str, str] = Field(default_factory=dict)


class _Service(Part):
    metadata: _Metadata
    spec: _ServiceSpec


@dataclass(frozen=True, slots=True)
class Domain:
    """Which Services are a node's to serve."""

    network: IPv4Network
    proxy_name: str = ""

    def holds(self, service: "_Service") -> bool:
        """Say whether a Service is within the range and addressed to this proxy."""
        addressed_to = service.metadata.labels.get(PROXY_NAME_LABEL, "")
        return addressed_to == self.proxy_name and _within(service.spec.cluster_ip, self.network)


def targets(manifest: Manifest, domain: Domain) -> dict[Listen, Target]:
    """Return what to listen on for a Service.

    Headless Services, Services without a selector, those of another domain and protocols other than
    TCP are not served.
    """
    service = _Service.model_validate(manifest)
    spec = service.spec
    if not spec.selector or not domain.holds(service):
        return {}
    return {
        Listen(spec.cluster_ip, port.port): Target(
            service.metadata.namespace, spec.selector, port.target_port or port.port
        )
        for port in spec.ports
        if port.protocol == "TCP"
    }


def backends(target: Target, pods: Iterable[LocalPod]) -> tuple[Backend, ...]:
    """Return the ready pods that a target selects; a port's name is looked up in each pod."""
    ready = (pod for pod in pods if pod.ready and _selects(target, pod))
    found = ((pod, pod.port_number(target.port)) for pod in ready)
    return tuple(Backend(pod.uid, pod.address, port) for pod, port in found if port is not None)


def _selects(target: Target, pod: LocalPod) -> bool:
    return pod.namespace == target.namespace and target.selector.items() <= pod.labels.items()


def _within(address: str, network: IPv4Network) -> bool:
    try:
        return ip_address(address) in network
    except ValueError:
        return False  # "None" of a headless Service, or nothing at all.
