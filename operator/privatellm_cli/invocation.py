"""How a person can call this command again, as text to copy and paste."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from privatellm_local.paths import StatePaths, state_paths
from privatellm_local.pki import inventory


def command(paths: StatePaths, *arguments: str) -> str:
    """Return a command line for the same environment that works in the present directory.

    Args:
        paths: The environment; it is named unless it is the default one.
        arguments: The subcommand and its arguments.
    """
    state = [] if paths == state_paths(None) else ["--state", str(paths.root)]
    return shlex.join([_program(), *arguments, *state])


def in_cluster(paths: StatePaths, *arguments: str) -> str:
    """Return a command line for the cluster of the same environment, as :func:`command` does.

    Args:
        paths: The environment; its kubeconfig is named unless it is the default one's.
        arguments: The subcommand and its arguments.
    """
    kubeconfig = str(paths.kubeconfig(inventory.ADMIN.name))
    cluster = [] if paths == state_paths(None) else ["--kubeconfig", kubeconfig]
    return shlex.join([_program(), *arguments, *cluster])


def _program() -> str:
    ourselves = Path(sys.argv[0]).absolute()
    found = shutil.which("privatellm")
    if found and Path(found).resolve() == ourselves.resolve():
        return "privatellm"
    if ourselves.name != "privatellm":
        return "privatellm"  # Run as a module or by a test.
    relative = os.path.relpath(ourselves)
    return str(ourselves) if relative.startswith("..") else relative
