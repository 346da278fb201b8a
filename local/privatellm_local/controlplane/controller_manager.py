"""kube-controller-manager without the controllers that loopback addresses break."""

from pathlib import Path

from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.controlplane import apiserver
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory, store
from privatellm_local.pki.inventory import Authority
from privatellm_local.processes.specification import ComponentSpec, Probe

NAME = "kube-controller-manager"

CONTROLLERS = (
    "*",
    # Endpoints and EndpointSlices refuse loopback addresses; the edge dials cluster IPs instead.
    "-endpointslice-controller",
    "-endpoints-controller",
    "-endpointslice-mirroring-controller",
)


def component(paths: StatePaths, plan: AddressPlan, program: Path) -> ComponentSpec:
    """Return how the controller manager runs."""
    return ComponentSpec(
        name=NAME,
        argv=(str(program), *_arguments(paths, plan)),
        environment={"GOMEMLIMIT": "256MiB"},
        after=(apiserver.NAME,),
        probe=Probe(
            url=f"https://{LOOPBACK}:{plan.controller_manager}/healthz",
            ca_file=store.certificate_file(paths, Authority.CLUSTER),
        ),
        address=f"https://{LOOPBACK}:{plan.controller_manager}",
    )


def _arguments(paths: StatePaths, plan: AddressPlan) -> tuple[str, ...]:
    return (
        f"--kubeconfig={paths.kubeconfig(inventory.CONTROLLER_MANAGER.name)}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={plan.controller_manager}",
        f"--tls-cert-file={store.certificate_file(paths, 'controller-manager')}",
        f"--tls-private-key-file={store.key_file(paths, 'controller-manager')}",
        f"--controllers={','.join(CONTROLLERS)}",
        "--use-service-account-credentials=true",
        f"--root-ca-file={store.certificate_file(paths, Authority.CLUSTER)}",
        f"--service-account-private-key-file={store.key_file(paths, inventory.SERVICE_ACCOUNT_KEY)}",
        # There is one of it, so there is nothing to elect and no lease to wait for.
        "--leader-elect=false",
        # The default of 20 queries a second needs minutes to settle 1 000 Deployments.
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        # A laptop that sleeps must not find its pods evicted.
        "--node-monitor-grace-period=5m",
        # Created when missing; its default is a system directory.
        f"--flex-volume-plugin-dir={paths.run / 'flexvolumes'}",
        "--profiling=false",
    )
