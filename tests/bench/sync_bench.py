"""How soon the sync agent carries: an order down, its status up, in a world that is full already.

Run ``python tests/bench/sync_bench.py --json FILE``. Two API servers on one etcd without controllers, the
kcp double in front of one, the agent as a process of its own. Most objects are made beforehand; the last
one of each workspace is made at a steady rate and timed, and so is its status, which is written the moment
its copy is seen. After each one an object is made directly in the service cluster and timed in the same
way: what that takes belongs to the machine, so the ratio is what agent and double add. The double and this
program share a process, which makes the agent look slower than it is, never faster.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from bare_servers import write_kubeconfig
from bench_machine import cpu_seconds, described
from eventually import eventually
from kcp_clusters import Servers, servers
from kcp_world import ADMIN, PROVIDER, Workspace, World, credentials, world
from privatellm.errors import ConflictError, KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import NAMESPACE
from privatellm_local.kcp.kinds import ENDPOINT_SLICE

WANTED_P99_SECONDS = 2.0
WANTED_MEMORY_MB = 300.0
DEADLINE_SECONDS = 600.0
WARMING = 8
"""Requests at the same time while the world is filled, which is not measured."""

DIRECT = "direct"
"""Namespace in the service cluster for the objects that nothing is done about."""


@dataclass(frozen=True)
class Delays:
    """What one kind of delay came to, in seconds."""

    p50: float
    p99: float
    longest: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> "Delays":
        """Sum up single delays."""
        ordered = sorted(seconds)
        last = max(0, -(-99 * len(ordered) // 100) - 1)
        return cls(statistics.median(ordered), ordered[last], ordered[-1])


@dataclass(frozen=True)
class Figures:
    """What was measured.

    Attributes:
        workspaces: How many customers.
        objects: How many objects in the end.
        per_second: Creations a second while it was measured.
        down: From asking for a creation in a workspace to the copy's event in the service cluster.
        up: From asking for a status there to the event of it in the workspace.
        direct: From asking for a creation in the service cluster to its event.
        memory_mb: The agent's resident memory when everything was there, and its highest.
        writes: Objects of either side whose version changed while nobody did anything.
        settled_seconds: For how long.
        settled_cpu_seconds: The agent's processor time in it.
    """

    workspaces: int
    objects: int
    per_second: float
    down: Delays
    up: Delays
    direct: Delays
    memory_mb: tuple[float, float]
    writes: int
    settled_seconds: float
    settled_cpu_seconds: float


class Sightings:
    """When something was first seen by a watch."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self._changed = asyncio.Event()

    def note(self, name: str) -> None:
        """Record the first sight of a name."""
        self.at.setdefault(name, time.monotonic())
        self._changed.set()

    async def until(self, name: str) -> float:
        """Return when a name was seen first."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while name not in self.at:
                self._changed.clear()
                await self._changed.wait()
        return self.at[name]


async def watch(
    client: KubeClient, made: World, see: Callable[[Manifest], object], *, ready: asyncio.Event
) -> None:
    """Follow the kind for ever; versions that expire are not met in the minutes of a bench."""
    listing = await client.list(made.kind)
    ready.set()
    while True:
        version = listing.resource_version
        async with aclosing(client.watch(made.kind, resource_version=version)) as events:  # type: ignore[type-var]
            async for event in events:
                if event.type != "BOOKMARK":
                    see(event.object)
        listing = await client.list(made.kind)


class Bench:
    """One filled world with a running agent."""

    def __init__(self, made: World, customers: list[Workspace]) -> None:
        self.world = made
        self.customers = customers
        self.copies, self.statuses = Sightings(), Sightings()
        self.places: dict[str, tuple[str, str]] = {}

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watch both sides until the block ends."""
        found = await self.world.provider.client.get(ENDPOINT_SLICE, self.world.export) or {}
        url = f"{found['status']['endpoints'][0]['url']}/clusters/*"
        async with KubeClient(credentials(url, ADMIN)) as above:
            ready = (asyncio.Event(), asyncio.Event())
            tasks = [
                asyncio.create_task(
                    watch(self.world.service, self.world, self._copy, ready=ready[0])
                ),
                asyncio.create_task(watch(above, self.world, self._original, ready=ready[1])),
            ]
            await asyncio.gather(*(each.wait() for each in ready))
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _copy(self, seen: Manifest) -> None:
        mark, metadata = str(seen["spec"]["mark"]), seen["metadata"]
        self.places[mark] = (metadata["name"], metadata["namespace"])
        self.copies.note(mark)

    def _original(self, seen: Manifest) -> None:
        if (seen.get("status") or {}).get("phase") == "Ready":
            self.statuses.note(str(seen["spec"]["mark"]))

    async def carry(self, customer: Workspace, name: str) -> tuple[float, float, float]:
        """Make an object and its status, and one beside them, and return the three delays."""
        mark = f"{customer.cluster}/{name}"
        asked = time.monotonic()
        await customer.create(self.world.kind, name, "default", spec={"mark": mark})
        down = await self.copies.until(mark) - asked
        place = self.places[mark]
        body = {"status": {"phase": "Ready"}}
        asked = time.monotonic()
        await self.world.service.patch(self.world.kind, *place, body, subresource="status")
        up = await self.statuses.until(mark) - asked
        return down, up, await self._direct(mark)

    async def _direct(self, mark: str) -> float:
        kind, name = self.world.kind, mark.replace("/", "-")
        metadata, spec = {"name": name, "namespace": DIRECT}, {"mark": f"d/{mark}"}
        manifest = {"apiVersion": kind.api_version, "kind": kind.name}
        manifest |= {"metadata": metadata, "spec": spec}  # type: ignore[dict-item]
        asked = time.monotonic()
        await self.world.service.create(kind, manifest)
        return await self.copies.until(f"d/{mark}") - asked


async def measure(
    workspaces: int, instances: int, rate: float, settled: float, at: Servers
) -> Figures:
    """Fill a world, measure the last object of each workspace, and look whether it comes to rest."""
    with tempfile.TemporaryDirectory(prefix="private-llm-bench-") as directory:
        async with world(at) as made:
            await made.publish()
            await made.service.create(NAMESPACE, _namespace(DIRECT))
            async with agent(made, at, Path(directory)) as pid:
                await made.published()
                bench = await filled(made, workspaces, instances - 1)
                async with bench.watching():
                    say(f"one more in each workspace, {rate:g} a second")
                    delays = await _at_rate(bench, rate)
                return await _figures(bench, pid, instances, rate, delays, settled)


async def filled(made: World, workspaces: int, instances: int) -> Bench:
    """Make workspaces with all objects but the last, and wait for their copies."""
    say(f"{workspaces} workspaces")
    customers: list[Workspace] = []

    async def onboard() -> None:
        customers.append(await _again(made.customer))

    await _together([onboard] * workspaces)
    say(f"{workspaces * instances} objects")
    await _together(
        [
            lambda one=customer, name=f"x{number}": one.create(  # type: ignore[misc]
                made.kind, name, "default", spec={"mark": f"{one.cluster}/{name}"}
            )
            for customer in customers
            for number in range(instances)
        ]
    )

    async def carried() -> bool:
        return len(await made.copies()) == workspaces * instances

    await eventually(carried, what="all copies", within=DEADLINE_SECONDS)
    return Bench(made, customers)


async def _figures(
    bench: Bench,
    pid: int,
    instances: int,
    rate: float,
    delays: list[tuple[float, float, float]],
    settled: float,
) -> Figures:
    await asyncio.sleep(5)  # Nobody tells when the last event was written.
    say(f"nothing for {settled:g} seconds")
    before, cpu = await _versions(bench), cpu_seconds(pid)
    await asyncio.sleep(settled)
    after = await _versions(bench)
    down, up, direct = zip(*delays, strict=True)
    return Figures(
        workspaces=len(bench.customers),
        objects=len(bench.customers) * instances,
        per_second=rate,
        down=Delays.of(down),
        up=Delays.of(up),
        direct=Delays.of(direct),
        memory_mb=(_memory_mb(pid, "VmRSS"), _memory_mb(pid, "VmHWM")),
        writes=sum(after.get(key) != version for key, version in before.items()),
        settled_seconds=settled,
        settled_cpu_seconds=cpu_seconds(pid) - cpu,
    )


async def _at_rate(bench: Bench, rate: float) -> list[tuple[float, float, float]]:
    started, waiting = time.monotonic(), []
    for number, customer in enumerate(bench.customers):
        await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
        waiting.append(asyncio.create_task(bench.carry(customer, "last")))
    return await asyncio.gather(*waiting)


async def _versions(bench: Bench) -> dict[str, str]:
    found = [(await bench.world.service.list(bench.world.kind)).items]
    found += [(await one.client.list(bench.world.kind)).items for one in bench.customers]
    return {
        item["metadata"]["uid"]: item["metadata"]["resourceVersion"]
        for items in found
        for item in items
    }


async def _together(jobs: list[Callable[[], Awaitable[Any]]]) -> None:
    turns = asyncio.Semaphore(WARMING)

    async def one(job: Callable[[], Awaitable[Any]]) -> None:
        async with turns:
            await job()

    await asyncio.gather(*(one(job) for job in jobs))


async def _again(make: Callable[[], Awaitable[Workspace]]) -> Workspace:
    """Make a workspace, again when the double's controllers were busy for too long."""
    while True:
        try:
            return await make()
        except (AssertionError, ConflictError, KubernetesError) as error:
            say(f"once more: {error}")


@asynccontextmanager
async def agent(made: World, at: Servers, directory: Path) -> AsyncIterator[int]:
    """Run the agent as a deployment does, and yield its process id."""
    server = f"{made.double.url}/clusters/{made.provider.path}"
    kubeconfig = write_kubeconfig(directory / "kcp", server, PROVIDER)
    with (directory / "agent.log").open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "privatellm_sync_agent.main"),
            f"--kcp-kubeconfig={kubeconfig}",
            f"--kubeconfig={at.service}",
            "--namespace=default",
            f"--agent-name={made.agent_name}",
            f"--apiexportendpointslice-ref={made.export}",
            f"--published-resource-selector=test={made.suffix}",
            "--metrics-address=0",
            stdout=log,
            stderr=log,
        )
        try:
            yield child.pid
        finally:
            child.terminate()
            await child.wait()


def _namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _memory_mb(pid: int, what: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))


def write_table(figures: Figures, out: TextIO) -> None:
    """Write the ratios first, then what they were made of."""
    down, up, direct = figures.down, figures.up, figures.direct
    out.write(
        f"\n{figures.objects} objects in {figures.workspaces} workspaces, {figures.per_second:g} a second\n"
        f"  down/direct p50   {down.p50 / direct.p50:.1f}\n"
        f"  down p50, p99     {down.p50:.3f} s, {down.p99:.3f} s   (p99 under {WANTED_P99_SECONDS:g} s)\n"
        f"  up p50, p99       {up.p50:.3f} s, {up.p99:.3f} s   (p99 under {WANTED_P99_SECONDS:g} s)\n"
        f"  direct p50, p99   {direct.p50:.3f} s, {direct.p99:.3f} s\n"
        f"  agent             {figures.memory_mb[0]:.0f} MB, at most {figures.memory_mb[1]:.0f} MB   "
        f"(under {WANTED_MEMORY_MB:g} MB)\n"
        f"settled for {figures.settled_seconds:.0f} s\n"
        f"  writes            {figures.writes}   (none)\n"
        f"  agent             {figures.settled_cpu_seconds:.2f} s of processor time\n"
        f"load average of the machine: {os.getloadavg()[0]:.1f}\n"
    )


def report(figures: Figures) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        **described(),
        **asdict(figures),
    }


def say(text: str) -> None:
    """Tell a person how far it is."""
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--workspaces", type=int, default=200)
    parser.add_argument("--instances", type=int, default=10, help="objects in each workspace")
    parser.add_argument("--rate", type=float, default=10.0, help="measured creations a second")
    parser.add_argument(
        "--settled", type=float, default=60.0, help="seconds in which nobody writes"
    )
    options = parser.parse_args()
    wanted = (options.workspaces, options.instances, options.rate, options.settled)
    with (
        tempfile.TemporaryDirectory(prefix="private-llm-bench-") as directory,
        servers(Path(directory)) as at,
    ):
        figures = asyncio.run(measure(*wanted, at))
    write_table(figures, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(figures), indent=2) + "\n")


if __name__ == "__main__":
    main()
