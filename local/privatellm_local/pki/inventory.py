"""Which certificates and identities an environment has.

Only ``bootstrap`` is in ``system:masters``, which RBAC cannot restrict; it is used by ``up`` alone. The
administrator's kubeconfig that people get is bound to ``cluster-admin`` by an RBAC object that can be
taken away. The host node is a user of its own rather than ``system:node:<name>``: besides a kubelet's
work it provisions volumes and serves cluster IPs, which the Node authorizer knows nothing about.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum

from privatellm_local.addresses import LOOPBACK, AddressPlan


class Authority(StrEnum):
    """A certificate authority; its value is the stem of its files."""

    CLUSTER = "ca"
    ETCD = "etcd-ca"
    FRONT_PROXY = "front-proxy-ca"


class Usage(Enum):
    """What a certificate may be used for."""

    SERVER = "server"
    CLIENT = "client"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class CertificateSpec:
    """One certificate that must exist; ``name`` is the stem of its files."""

    name: str
    authority: Authority
    usage: Usage
    common_name: str
    organization: str = ""
    hosts: tuple[str, ...] = ()
    """DNS names and IP addresses a server is reached by."""


@dataclass(frozen=True, slots=True)
class User:
    """An identity at the API server, which gets a kubeconfig of its own."""

    name: str
    common_name: str
    group: str = ""

    @property
    def certificate(self) -> CertificateSpec:
        """The client certificate that proves the identity."""
        return CertificateSpec(
            f"user-{self.name}", Authority.CLUSTER, Usage.CLIENT, self.common_name, self.group
        )


ADMINISTRATORS = "private-llm:administrators"
"""Group of the people who get the kubeconfig that `privatellm env` prints."""

BOOTSTRAP = User("bootstrap", "private-llm:bootstrap", "system:masters")
ADMIN = User("admin", "private-llm:admin", ADMINISTRATORS)
CONTROLLER_MANAGER = User("controller-manager", "system:kube-controller-manager")
SCHEDULER = User("scheduler", "system:kube-scheduler")
NODE = User("node", "private-llm:host-node")
EDGE = User("edge", "private-llm:edge")

USERS = (BOOTSTRAP, ADMIN, CONTROLLER_MANAGER, SCHEDULER, NODE, EDGE)

KUBELET_CLIENT = "private-llm:apiserver-kubelet-client"
"""Who the API server is when it asks the node for logs."""

SERVICE_ACCOUNT_KEY = "service-account"
"""Stem of the key pair that signs service-account tokens."""

_LOCAL = ("localhost", LOOPBACK)


def certificates(plan: AddressPlan) -> tuple[CertificateSpec, ...]:
    """Return every certificate of an environment."""
    return (*_servers(plan), *_clients(), *(user.certificate for user in USERS))


def _servers(plan: AddressPlan) -> tuple[CertificateSpec, ...]:
    in_cluster = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    apiserver_hosts = (*in_cluster, f"{in_cluster[-1]}.cluster.local", *_LOCAL)
    cluster, server = Authority.CLUSTER, Usage.SERVER
    return (
        # etcd dials itself with its serving certificate.
        CertificateSpec("etcd", Authority.ETCD, Usage.BOTH, "etcd", hosts=_LOCAL),
        CertificateSpec("etcd-peer", Authority.ETCD, Usage.BOTH, "etcd-peer", hosts=_LOCAL),
        CertificateSpec(
            "apiserver",
            cluster,
            server,
            "kube-apiserver",
            hosts=(*apiserver_hosts, str(plan.kubernetes_service)),
        ),
        CertificateSpec("kubelet", cluster, server, "host", hosts=("host", *_LOCAL)),
        CertificateSpec(
            "controller-manager", cluster, server, "kube-controller-manager", hosts=_LOCAL
        ),
        CertificateSpec("scheduler", cluster, server, "kube-scheduler", hosts=_LOCAL),
    )


def _clients() -> tuple[CertificateSpec, ...]:
    client = Usage.CLIENT
    return (
        CertificateSpec("apiserver-etcd-client", Authority.ETCD, client, "kube-apiserver"),
        CertificateSpec("apiserver-kubelet-client", Authority.CLUSTER, client, KUBELET_CLIENT),
        CertificateSpec("front-proxy-client", Authority.FRONT_PROXY, client, "front-proxy-client"),
        # The supervisor's own, which may see /readyz and nothing else.
        CertificateSpec("probe", Authority.CLUSTER, client, "private-llm:probe"),
    )
