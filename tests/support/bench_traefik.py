"""A Traefik over a cluster of a bench, configured as the embedded environment does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

from privatellm_local import addresses
from privatellm_local.edge import configuration, program

SLOT = addresses.SLOTS - 1
"""The ports of the last slot, which an environment takes last."""

STOP_SECONDS = 15.0


@contextmanager
def traefik(kubeconfig: Path, directory: Path) -> Iterator[int]:
    """Run Traefik for the length of the block and yield its process id.

    Args:
        kubeconfig: The cluster whose routes it serves.
        directory: Where its configuration and its logs go.
    """
    config = directory / "traefik.yaml"
    config.write_text(configuration.render(addresses.plan_for(SLOT)))
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    with (
        (directory / "traefik.log").open("wb") as log,
        Popen(
            [program.find(), f"--configFile={config}"], env=environment, stdout=log, stderr=log
        ) as child,
    ):
        try:
            yield child.pid
        finally:
            child.terminate()
            child.wait(STOP_SECONDS)
