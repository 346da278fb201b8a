"""The processes of an embedded environment as the kernel shows them, and what faults do to them.

Components are named by the supervisor's report, containers by what the host node gave their processes.
Only processes of the environment under test are ever signalled, each by its id at that moment.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from privatellm_local.node.leftovers import MARKER
from privatellm_local.paths import StatePaths
from privatellm_local.processes import status

HOST_NODE = "host-node"
OPERATOR = "private-llm-operator"
AUTHSERVER = "private-llm-authserver"
MODEL_SERVER = "llama-server"


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a container.

    Attributes:
        pid: Its id.
        parent: Its parent's id.
        pod_uid: UID of the pod that it was started for.
        pod: Name of that pod.
        container: Name of the container.
    """

    pid: int
    parent: int
    pod_uid: str
    pod: str
    container: str


class Parts:
    """The processes of one environment."""

    def __init__(self, state: Path) -> None:
        self.paths = StatePaths(state.resolve())

    def component(self, name: str) -> int | None:
        """Return the id of a component's process, or ``None`` while it has none."""
        current = status.read_living(self.paths)
        found = current.component(name) if current else None
        return found.process.pid if found and found.process else None

    def processes(self) -> tuple[Process, ...]:
        """Return every process that the host node, or one before it, has started for a pod."""
        return tuple(_processes(self.paths.node))

    def pod_directories(self) -> frozenset[str]:
        """Return the UIDs of the pods that have a directory on the node."""
        return frozenset(directory.name for directory in (self.paths.node / "pods").iterdir())

    def leaders(self, pod_prefix: str, container: str = "main") -> tuple[Process, ...]:
        """Return the first process of each such container, by pods whose names begin so."""
        node = self.component(HOST_NODE)
        return tuple(
            process
            for process in self.processes()
            if process.parent == node
            and process.container == container
            and process.pod.startswith(pod_prefix)
        )

    def pid(self, part: str) -> int | None:
        """Return the id of a part that runs once: a component, operator, ForwardAuth service, server."""
        if part in (OPERATOR, AUTHSERVER):
            found = self.leaders(part)
        elif part == MODEL_SERVER:
            found = self.leaders("", MODEL_SERVER)
        else:
            return self.component(part)
        return found[0].pid if found else None

    def hit(self, part: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to a part that runs once, and return the id that it had."""
        pid = self.pid(part)
        assert pid is not None, f"{part} does not run"
        os.kill(pid, number)
        return pid


def _processes(node: Path) -> Iterator[Process]:
    marker = f"{MARKER}={node}"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            if marker not in variables:
                continue
            place = (entry / "cwd").readlink().relative_to(node / "pods").parts
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue  # It has ended, belongs to somebody else, or has left its directory.
        names = dict(variable.partition("=")[::2] for variable in variables)
        # A zombie is a dead process that nobody has collected yet.
        if fields[0] != "Z":
            yield Process(
                int(entry.name), int(fields[1]), place[0], names.get("HOSTNAME", ""), place[2]
            )
