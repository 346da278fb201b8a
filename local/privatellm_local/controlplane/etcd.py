"""etcd: the cluster's data, reachable only with a certificate of its own authority."""

from pathlib import Path

from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.paths import StatePaths
from privatellm_local.pki import store
from privatellm_local.pki.inventory import Authority
from privatellm_local.processes.specification import ComponentSpec, Probe

NAME = "etcd"


def component(paths: StatePaths, plan: AddressPlan, program: Path) -> ComponentSpec:
    """Return how etcd runs. Data is synced to disk on every write, so a crash loses nothing."""
    return ComponentSpec(
        name=NAME,
        argv=(str(program), *_arguments(paths, plan)),
        environment={"GOMEMLIMIT": "192MiB"},
        probe=Probe(
            url=f"https://{LOOPBACK}:{plan.etcd}/readyz",
            ca_file=store.certificate_file(paths, Authority.ETCD),
            cert_file=store.certificate_file(paths, "apiserver-etcd-client"),
            key_file=store.key_file(paths, "apiserver-etcd-client"),
        ),
        address=f"https://{LOOPBACK}:{plan.etcd}",
    )


def _arguments(paths: StatePaths, plan: AddressPlan) -> tuple[str, ...]:
    client = f"https://{LOOPBACK}:{plan.etcd}"
    peer = f"https://{LOOPBACK}:{plan.etcd_peer}"
    authority = store.certificate_file(paths, Authority.ETCD)
    return (
        f"--name={NAME}",
        f"--data-dir={paths.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--cert-file={store.certificate_file(paths, 'etcd')}",
        f"--key-file={store.key_file(paths, 'etcd')}",
        f"--trusted-ca-file={authority}",
        "--client-cert-auth=true",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={NAME}={peer}",
        f"--peer-cert-file={store.certificate_file(paths, 'etcd-peer')}",
        f"--peer-key-file={store.key_file(paths, 'etcd-peer')}",
        f"--peer-trusted-ca-file={authority}",
        "--peer-client-cert-auth=true",
        "--log-level=warn",
    )
