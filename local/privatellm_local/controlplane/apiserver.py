"""kube-apiserver with a loopback service range."""

from pathlib import Path

from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.controlplane import etcd
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory, store
from privatellm_local.pki.inventory import Authority
from privatellm_local.processes.specification import ComponentSpec, Probe

NAME = "kube-apiserver"

ISSUER = "https://kubernetes.default.svc"
"""Who service-account tokens say they come from."""

MEMORY_LIMIT = "600MiB"
"""Soft limit of the Go heap: without one the process keeps what a burst of objects once needed."""


def component(paths: StatePaths, plan: AddressPlan, program: Path) -> ComponentSpec:
    """Return how the API server runs; it is ready when ``/readyz`` says so."""
    return ComponentSpec(
        name=NAME,
        argv=(
            str(program),
            *serving(paths, plan.apiserver),
            *storage(paths, plan),
            *_authentication(paths),
            *_front_proxy(paths),
            *_node_access(paths),
            *loopback(plan),
        ),
        environment={"GOMEMLIMIT": MEMORY_LIMIT, "GOGC": "75"},
        after=(etcd.NAME,),
        probe=probe(paths, plan.apiserver_url),
        address=plan.apiserver_url,
    )


def probe(paths: StatePaths, url: str) -> Probe:
    """Return how an API server is asked whether it is ready."""
    return Probe(
        url=f"{url}/readyz",
        ca_file=store.certificate_file(paths, Authority.CLUSTER),
        cert_file=store.certificate_file(paths, "probe"),
        key_file=store.key_file(paths, "probe"),
    )


def serving(paths: StatePaths, port: int) -> tuple[str, ...]:
    """Return where an API server listens, and with which certificate."""
    return (
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--tls-cert-file={store.certificate_file(paths, 'apiserver')}",
        f"--tls-private-key-file={store.key_file(paths, 'apiserver')}",
        "--profiling=false",
    )


def storage(paths: StatePaths, plan: AddressPlan) -> tuple[str, ...]:
    """Return how an API server reaches etcd."""
    return (
        f"--etcd-servers=https://{LOOPBACK}:{plan.etcd}",
        f"--etcd-cafile={store.certificate_file(paths, Authority.ETCD)}",
        f"--etcd-certfile={store.certificate_file(paths, 'apiserver-etcd-client')}",
        f"--etcd-keyfile={store.key_file(paths, 'apiserver-etcd-client')}",
    )


def _authentication(paths: StatePaths) -> tuple[str, ...]:
    name = inventory.SERVICE_ACCOUNT_KEY
    return (
        f"--client-ca-file={store.certificate_file(paths, Authority.CLUSTER)}",
        # Every caller has a certificate or a token; strangers on the machine have neither.
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={store.public_key_file(paths, name)}",
        f"--service-account-signing-key-file={store.key_file(paths, name)}",
    )


def _front_proxy(paths: StatePaths) -> tuple[str, ...]:
    name = "front-proxy-client"
    return (
        f"--requestheader-client-ca-file={store.certificate_file(paths, Authority.FRONT_PROXY)}",
        f"--requestheader-allowed-names={name}",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={store.certificate_file(paths, name)}",
        f"--proxy-client-key-file={store.key_file(paths, name)}",
    )


def _node_access(paths: StatePaths) -> tuple[str, ...]:
    # With these `kubectl logs` works; the node refuses whoever cannot show such a certificate.
    name = "apiserver-kubelet-client"
    return (
        f"--kubelet-client-certificate={store.certificate_file(paths, name)}",
        f"--kubelet-client-key={store.key_file(paths, name)}",
        f"--kubelet-certificate-authority={store.certificate_file(paths, Authority.CLUSTER)}",
        "--kubelet-preferred-address-types=InternalIP",
    )


def loopback(plan: AddressPlan) -> tuple[str, ...]:
    """Return what an API server must be told on a machine that may have no network."""
    return (
        f"--service-cluster-ip-range={plan.service_cidr}",
        # Said explicitly: a machine without any network has no address that could be guessed.
        f"--advertise-address={LOOPBACK}",
        # EndpointSlices refuse loopback addresses.
        "--endpoint-reconciler-type=none",
    )
