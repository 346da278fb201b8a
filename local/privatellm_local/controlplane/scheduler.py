"""kube-scheduler, which has one node to choose from and should not take long over it."""

from pathlib import Path

import yaml

from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.controlplane import apiserver
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory, store
from privatellm_local.pki.inventory import Authority
from privatellm_local.processes.specification import ComponentSpec, Probe, digest

NAME = "kube-scheduler"


def configuration_file(paths: StatePaths) -> Path:
    """Return where the scheduler's configuration is."""
    return paths.config / "scheduler.yaml"


def configuration(paths: StatePaths) -> str:
    """Return the content of the configuration file."""
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(paths.kubeconfig(inventory.SCHEDULER.name)),
            "qps": 300,
            "burst": 600,
        },
        "leaderElection": {"leaderElect": False},
        "enableProfiling": False,
        # A pod that waits for the node to become ready is tried again after this at most.
        "podMaxBackoffSeconds": 2,
    }
    return yaml.safe_dump(content, sort_keys=False)


def component(paths: StatePaths, plan: AddressPlan, program: Path) -> ComponentSpec:
    """Return how the scheduler runs; its configuration file must be written before."""
    return ComponentSpec(
        name=NAME,
        argv=(
            str(program),
            f"--config={configuration_file(paths)}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={plan.scheduler}",
            f"--tls-cert-file={store.certificate_file(paths, 'scheduler')}",
            f"--tls-private-key-file={store.key_file(paths, 'scheduler')}",
        ),
        environment={"GOMEMLIMIT": "192MiB"},
        after=(apiserver.NAME,),
        probe=Probe(
            url=f"https://{LOOPBACK}:{plan.scheduler}/healthz",
            ca_file=store.certificate_file(paths, Authority.CLUSTER),
        ),
        address=f"https://{LOOPBACK}:{plan.scheduler}",
        fingerprint=digest(configuration(paths)),
    )
