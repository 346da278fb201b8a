"""An operator in the test's own process, whose Lease lasts seconds and whose clock the test moves."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bare_servers import free_port
from chaos_proxy import Relay
from operator_process import Probed
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.fence import FencedClient
from privatellm.kube.lease import Lease, LeaseSettings
from privatellm_operator.process import LEASE_NAME, OperatorProcess
from privatellm_operator.settings import (
    LastUseSettings,
    ListenerSettings,
    ModelMetricsSettings,
    PodSettings,
    Settings,
    TokenSettings,
    WatchSettings,
)

LEASE_SECONDS = 3.0
"""Long enough for a machine that is busy, short enough to wait for."""

LEADER = "the-one"


class MovableClock:
    """A monotonic clock that can jump, as it does for a process that was suspended."""

    def __init__(self) -> None:
        self._jumped = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return time.monotonic() + self._jumped

    def jump(self, seconds: float) -> None:
        """Let so many seconds pass at once."""
        self._jumped += seconds


@dataclass(frozen=True)
class Operator(Probed):
    """An operator that runs in the test's process.

    Attributes:
        process: The operator.
        task: Its run.
        clock: What it measures its Lease by.
    """

    process: OperatorProcess
    task: "asyncio.Task[None]"
    clock: MovableClock


def candidacy(system: str, identity: str, *, renew_every: float = 0.3) -> LeaseSettings:
    """Return the settings of an impatient candidate.

    Args:
        system: The operators' namespace.
        identity: Who the candidate is.
        renew_every: Seconds between two renewals.
    """
    return LeaseSettings(
        *(system, LEASE_NAME, identity),
        duration=LEASE_SECONDS,
        renew_every=renew_every,
        retry_every=0.1,
    )


def operator_settings(
    tenant: str, system: str, port: int, last_use: LastUseSettings | None = None
) -> Settings:
    """Return settings of an operator that serves one tenant and asks nobody, unless it is told to."""
    return Settings(
        pod=PodSettings(namespace=system),
        tokens=TokenSettings(token_namespace=system),
        watch=WatchSettings(namespaces=(tenant,)),
        listener=ListenerSettings(bind_host="127.0.0.1", metrics_port=port),
        last_use=last_use or LastUseSettings(seconds=0),
        model_metrics=ModelMetricsSettings(seconds=0),
    )


@asynccontextmanager
async def leading(
    settings: Settings,
    *,
    client: Path,
    watches: Path,
    renew_every: float = 0.3,
    identity: str = LEADER,
) -> AsyncIterator[Operator]:
    """Run an operator; at the end of the block it is asked to stop.

    Args:
        settings: What the platform team decided.
        client: The kubeconfig for its passes and its Lease.
        watches: The kubeconfig for its watches.
        renew_every: Seconds between two renewals of the Lease.
        identity: Who it is among the candidates.
    """
    clock = MovableClock()
    async with (
        await FencedClient.connect(client) as writing,
        await KubeClient.connect(watches, connection_limit=0) as watching,
    ):
        candidate = candidacy(settings.pod.namespace, identity, renew_every=renew_every)
        lease = Lease(writing, candidate, clock=clock)
        key = PlatformKey.of("k" * 32)
        process = OperatorProcess(settings, key, writing, watching, lease)
        run = asyncio.create_task(process.run())
        try:
            yield Operator(settings.listener.metrics_port, process, run, clock)
        finally:
            process.stop()
            await asyncio.gather(run, return_exceptions=True)


@contextmanager
def relayed(kubeconfig: Path, directory: Path) -> Iterator[tuple[Relay, Path]]:
    """Run a relay to a kubeconfig's API server, and yield it with a kubeconfig that leads through it."""
    text, port = kubeconfig.read_text(), free_port()
    [target] = set(re.findall(r"127\.0\.0\.1:(\d+)", text))
    path = directory / "relayed-kubeconfig"
    path.write_text(text.replace(f"127.0.0.1:{target}", f"127.0.0.1:{port}"))
    with Relay(port, int(target)).running() as relay:
        yield relay, path


async def lease_of(client: KubeClient, system: str) -> Manifest:
    """Return what the operators' Lease says; nothing before there is one."""
    lease = await client.get(kinds.LEASE, LEASE_NAME, system)
    return (lease or {}).get("spec") or {}
