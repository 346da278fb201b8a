"""How the edge runs.

Traefik watches definitions by what they are when it starts. One that is deleted and made again leaves it
asking less and less often for something that is gone, so it is started again for other definitions.
"""

from pathlib import Path

from privatellm_local.addresses import LOOPBACK, AddressPlan
from privatellm_local.controlplane import apiserver
from privatellm_local.edge import configuration
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory
from privatellm_local.processes.specification import ComponentSpec, Probe, digest

NAME = "traefik"


def configuration_file(paths: StatePaths) -> Path:
    """Return where Traefik's static configuration is."""
    return paths.config / "traefik.yaml"


def component(
    paths: StatePaths, plan: AddressPlan, program: Path, definitions: str
) -> ComponentSpec:
    """Return how Traefik runs; its configuration file must be written before.

    Args:
        paths: The environment.
        plan: Its addresses.
        program: Traefik.
        definitions: Tells the definitions that Traefik watches from earlier ones of the same names.
    """
    return ComponentSpec(
        name=NAME,
        argv=(str(program), f"--configFile={configuration_file(paths)}"),
        environment={
            "KUBECONFIG": str(paths.kubeconfig(inventory.EDGE.name)),
            "GOMEMLIMIT": "256MiB",
        },
        after=(apiserver.NAME,),
        probe=Probe(url=f"http://{LOOPBACK}:{plan.edge_internal}/ping"),
        address=plan.edge_url,
        fingerprint=digest(configuration.render(plan) + definitions),
    )
