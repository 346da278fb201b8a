"""What the model servers of an instance say.

Without a container named, the server is meant, or the fetcher while the server has not begun: what a
person wants to read is what happens now. With several servers each line says whose it is.
"""

import asyncio
import sys
from dataclasses import dataclass

import typer

from privatellm import labels
from privatellm.errors import NotFoundError
from privatellm.kube import Manifest, kinds
from privatellm.names import label_value
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.downloads import FETCHER

SERVER = "llama-server"
"""Name of the container that answers."""

CONTAINERS = (SERVER, FETCHER, "drain")
"""The containers of a model server's pod; the last one holds its end back while the server is at work."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which part of which log.

    Attributes:
        container: Name of a container; ``None`` for the one that is at work.
        previous: The run before the present one.
        follow: Whether to go on.
        lines: How many of the last lines; ``None`` for all.
    """

    container: str | None = None
    previous: bool = False
    follow: bool = False
    lines: int | None = None

    def parameters(self, pod: Manifest) -> dict[str, str]:
        """Return the query that the API server understands."""
        wanted = {
            "container": self.container or container_at_work(pod),
            "previous": "true" if self.previous else "",
            "follow": "true" if self.follow else "",
            "tailLines": "" if self.lines is None else str(self.lines),
        }
        return {name: value for name, value in wanted.items() if value}


async def copy(cluster: Cluster, name: Name, query: LogQuery) -> None:
    """Copy the logs of an instance's servers to standard output; say so when there is nothing in them.

    Raises:
        NotFoundError: when there is no such instance, or it has no server.
    """
    pods = await _pods(cluster, name)
    copied = await asyncio.gather(
        *(_copy_one(cluster, p, query, marked=len(pods) > 1) for p in pods)
    )
    for pod, lines in zip(pods, copied, strict=True):
        if not lines:
            container = query.container or container_at_work(pod)
            typer.echo(
                f"Container {container} of pod {pod['metadata']['name']} has written no lines yet: see "
                f"`privatellm describe {name.text}`.",
                err=True,
            )


def container_at_work(pod: Manifest) -> str:
    """Return the container whose log tells what happens now."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        has_begun = "waiting" not in (container.get("state") or {}) or container.get("lastState")
        if container["name"] == SERVER and has_begun:
            return SERVER
    return FETCHER


async def _pods(cluster: Cluster, name: Name) -> tuple[Manifest, ...]:
    instance = await cluster.require(kinds.LLM_INSTANCE, name)
    selector = f"{labels.LLM_INSTANCE}={label_value(name.name)}"
    listing = await cluster.client.list(kinds.POD, name.namespace, labels=selector)
    if not listing.items:
        phase = instance.get("status", {}).get("phase", "Pending")
        raise NotFoundError(
            f"LLMInstance {name.text} is {phase} and has no server whose log could be read: see "
            f"`privatellm describe {name.text}`."
        )
    return listing.items


async def _copy_one(cluster: Cluster, pod: Manifest, query: LogQuery, *, marked: bool) -> int:
    """Copy the log of one pod and return how many lines it had."""
    copied = 0
    metadata = pod["metadata"]
    path = kinds.POD.path(metadata["namespace"], metadata["name"], "log")
    mark = f"[{metadata['name']}] ".encode() if marked else b""
    async for line in cluster.client.lines(path, query=query.parameters(pod)):
        sys.stdout.buffer.write(mark + line)
        sys.stdout.buffer.flush()
        copied += 1
    return copied
