"""A client that counts what it sends and can die at any of its writes."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

from typing_extensions import override

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.credentials import Credentials


class Crash(Exception):  # noqa: N818 - the end of a process is no error that code handles
    """The operator's process ended here; nothing in the operator catches this."""


class Moment(Enum):
    """When the process ends, seen from the write."""

    BEFORE = auto()
    AFTER = auto()


class FragileClient(KubeClient):
    """Sends what a client sends, remembers it, and dies on demand.

    Attributes:
        sent: Method and path of every request, in order.
        writes: Those that changed something.
    """

    def __init__(self, credentials: Credentials, **options: Any) -> None:
        super().__init__(credentials, **options)
        self.sent: list[tuple[str, str]] = []
        self.writes: list[tuple[str, str]] = []
        self._death: tuple[int, Moment] | None = None

    def forget(self) -> None:
        """Start to count anew, with a long life ahead."""
        self.sent.clear()
        self.writes.clear()
        self._death = None

    def die_at(self, write: int, moment: Moment) -> None:
        """Start to count anew and die around the write of this number, the first being 0."""
        self.forget()
        self._death = (write, moment)

    @override
    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = "application/json",
    ) -> Manifest:
        """Send one request, unless the process dies before it."""
        self.sent.append((method, path))
        is_write = method != "GET" and "dryRun" not in (query or {})
        if is_write:
            self._maybe_die(Moment.BEFORE)
        answer = await super().request(method, path, query=query, body=body, content=content)
        if is_write:
            self._maybe_die(Moment.AFTER)
            self.writes.append((method, path))
        return answer

    def _maybe_die(self, moment: Moment) -> None:
        if self._death == (len(self.writes), moment):
            raise Crash(f"{moment.name} write {len(self.writes)}")
