"""Let nothing be written by a process that somebody may have taken the lead from.

A leader that was suspended for longer than its Lease lasts wakes up with passes half done and events of the
past in its sockets, and learns only with its next renewal that another one leads. So every write asks the
Lease first, by the clock and without a request. What is refused is tried again when the lead is certain, by
whoever has it then. A write that had left before the suspension is the server's business.
"""

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

from typing_extensions import override

from privatellm.errors import UnavailableError
from privatellm.kube import Manifest
from privatellm.telemetry.passes import NotingClient

NOT_LEADING = "NotLeading"


class FencedClient(NotingClient):
    """A client that writes only while it may; without a fence it always may."""

    _may_write: Callable[[], bool] | None = None

    def behind(self, may_write: Callable[[], bool]) -> Self:
        """Return a client behind a fence that shares this one's connections.

        Args:
            may_write: Asked before each request that is not a read.
        """
        view = copy(self)
        view._may_write = may_write  # noqa: SLF001 - a copy of ourselves
        return view

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
        """Send one request.

        Raises:
            UnavailableError: when it writes and somebody else may lead by now.
            KubernetesError: or the subclass that fits the answer.
        """
        if method != "GET" and self._may_write is not None and not self._may_write():
            raise UnavailableError(
                f"Only a leader writes, and the Lease ran out: {method} {path} was not sent.",
                reason=NOT_LEADING,
            )
        return await super().request(method, path, query=query, body=body, content=content)
