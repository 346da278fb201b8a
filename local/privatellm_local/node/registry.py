"""The pods of this node as the Services and the log server see them.

The node's own knowledge is fresher than the API server's, so a pod that starts to end gets no new
connection from that moment on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from privatellm_local.node.pod import Container


@dataclass(frozen=True, slots=True)
class LocalPod:
    """What a Service needs to know about a pod."""

    uid: str
    namespace: str
    labels: Mapping[str, str]
    address: str
    containers: tuple[Container, ...]
    ready: bool

    def port_number(self, port: int | str) -> int | None:
        """Return the number of a port given by number or by the name that a container gives it."""
        numbers = (container.port_number(port) for container in self.containers)
        return next((number for number in numbers if number is not None), None)


class PodRegistry:
    """Every pod that this node runs."""

    def __init__(self) -> None:
        self._pods: dict[str, LocalPod] = {}
        self._on_removal: list[Callable[[str], None]] = []
        self.version = 0
        """Grows with every change, so that readers can keep what they derived."""

    @property
    def pods(self) -> tuple[LocalPod, ...]:
        """The pods in the order of their UIDs, so that two readers agree."""
        return tuple(self._pods[uid] for uid in sorted(self._pods))

    def put(self, pod: LocalPod) -> None:
        """Add a pod or replace what is known about it."""
        if self._pods.get(pod.uid) != pod:
            self._pods[pod.uid] = pod
            self.version += 1

    def remove(self, uid: str) -> None:
        """Forget a pod that is gone."""
        if self._pods.pop(uid, None):
            self.version += 1
            for notify in self._on_removal:
                notify(uid)

    def on_removal(self, notify: Callable[[str], None]) -> None:
        """Call a function with the UID of every pod that is forgotten."""
        self._on_removal.append(notify)
