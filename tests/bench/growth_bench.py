"""What one more instance costs as the world grows, and what each part is when nothing happens.

Run ``python tests/bench/growth_bench.py --json FILE``. One world grows from 100 to 5 000 instances. At each
size a batch of new instances is ordered of the running operator, and the same writes are issued directly
while it is held still (SIGSTOP), in turns: what an API server with more objects costs falls on both alike,
so their ratio and the operator's own processor time say whether *it* grows. Then nothing is done for a
while, and memory and processor time of every part are read. At the end of each size the operator is
started again over the settled world.

Replicas are 0: what would run in pods is not the operator's cost. Absolute times belong to the machine.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

import httpx

import auth_service
import operator_bench as bench
from bench_machine import children, cpu_seconds, described, family, memory_mb
from bench_traefik import traefik
from eventually import eventually
from operator_process import RunningOperator
from privatellm.kube import KubeClient
from token_control_plane import ALL_CONTROLLERS, control_plane

SIZES = (100, 1000, 2000, 5000)
MORE = 25
"""Instances that are added at once; as many as the operator works on at the same time, and a few."""

ROUNDS = 5
REST_SECONDS = 30.0
AFTER_SECONDS = 2.0
"""How long after the last Ingress the operator is still working on what it brought: status and echoes."""

PROBE_SECONDS = 0.05
"""Between two probes of a starting operator."""

WANTED_GROWTH = 1.2
WANTED_MEMORY_MB = 300.0
WANTED_IDLE_SHARE = 0.02
NAMED_SIZE = 2000
"""The size for which memory and idleness are promised, with a key for each instance."""


@dataclass(frozen=True)
class Rest:
    """What one process was while nothing happened.

    Attributes:
        memory_mb: Memory, shared pages by its share of them.
        cpu_share: Processor time as a share of one core.
    """

    memory_mb: float
    cpu_share: float


@dataclass(frozen=True)
class Size:
    """What was measured in a world of one size; medians over rounds.

    Attributes:
        instances: How many there were before.
        operator_ms: Time for one more, ordered of the operator, in a batch.
        direct_ms: The same writes, issued directly.
        ratio: Of the two, round by round.
        cpu_ms: The operator's processor time for one more, without what it uses at rest.
        rest: Every part at rest, by its name.
        restart_seconds: Until the restarted operator had passed over everything.
        restart_writes: Objects that it changed in doing so.
        restart_probe_ms: The longest that ``/healthz`` took to answer meanwhile.
    """

    instances: int
    operator_ms: float
    direct_ms: float
    ratio: float
    cpu_ms: float
    rest: Mapping[str, Rest]
    restart_seconds: float
    restart_writes: int
    restart_probe_ms: float


@dataclass(frozen=True)
class Restart:
    """What a restart over a settled world was; the columns of :class:`Size`."""

    seconds: float
    writes: int
    probe_ms: float


class World:
    """A control plane with our kinds, and what it takes to look at it.

    Attributes:
        client: An administrator's.
        kubeconfig: The same for programs.
        directory: Where the operator's files go.
        instances: How many there are.
        keys: How many of them have one.
    """

    def __init__(self, client: KubeClient, kubeconfig: Path, directory: Path) -> None:
        self.client = client
        self.kubeconfig = kubeconfig
        self.directory = directory
        self.instances = 0
        self.keys = 0

    @asynccontextmanager
    async def operating(self) -> AsyncIterator[RunningOperator]:
        """Run an operator that has passed over everything when the block begins."""
        async with bench.operating(self.kubeconfig, self.directory) as operator:
            await self.until_passed(operator)
            yield operator

    async def until_passed(self, operator: RunningOperator) -> None:
        """Wait until an operator has passed over everything."""
        await bench.until_equipped(self.client)
        await bench.until_passed(operator, self.instances + bench.WARM_UP_INSTANCES)

    async def order(self, count: int) -> float:
        """Order more instances of the running operator; return the seconds until the last Ingress."""
        return await self._until(lambda n: bench.order_all(self.client, count, first=n), count)

    async def write(self, count: int) -> float:
        """Write more instances without the operator; return the seconds until the last Ingress."""
        return await self._until(lambda n: bench.write_directly(self.client, count, first=n), count)

    async def _until(self, act: Callable[[int], Awaitable[None]], count: int) -> float:
        first, self.instances = self.instances, self.instances + count
        return await bench.until_every_ingress(self.client, count, lambda: act(first))

    async def ask_for_keys(self) -> None:
        """Ask for a key for every instance."""
        self.keys = self.instances
        await bench.order_keys(self.client, self.keys)


@contextmanager
def held(pid: int) -> Iterator[None]:
    """Hold a process still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def at_peace(operator: RunningOperator) -> None:
    """Wait until nothing waits for a pass and none has ended for a second."""
    last = -1.0

    async def quiet() -> bool:
        nonlocal last
        passes = await operator.total("private_llm_reconcile_total")
        same, last = passes == last, passes
        await asyncio.sleep(1.0)
        return same and await operator.metric("private_llm_queue_depth") == 0

    await eventually(quiet, within=bench.DEADLINE_SECONDS, what="an operator at peace")


async def resting(pids: Mapping[str, int], seconds: float) -> dict[str, Rest]:
    """Return what every part, with its child processes, is while nothing happens."""
    before = {name: _cpu(pid) for name, pid in pids.items()}
    await asyncio.sleep(seconds)
    return {
        name: Rest(sum(map(memory_mb, family(pid))), (_cpu(pid) - before[name]) / seconds)
        for name, pid in pids.items()
    }


def _cpu(pid: int) -> float:
    return sum(map(cpu_seconds, family(pid)))


@asynccontextmanager
async def everybody(world: World, operator: RunningOperator) -> AsyncIterator[dict[str, int]]:
    """Yield the process of every part by name, with an edge and a check of its own for the block."""
    control = {name: pid for pid, name in children(os.getpid()).items() if "kube" in name}
    etcd = {name: pid for pid, name in children(os.getpid()).items() if name == "etcd"}
    variables = auth_service.environment_for(world.kubeconfig, world.directory / "check")
    variables |= {"PRIVATE_LLM_TOKEN_NAMESPACE": bench.TOKENS, "PRIVATE_LLM_WORKERS": "1"}
    log = world.directory / "check.log"
    async with auth_service.running(variables, log, within=bench.DEADLINE_SECONDS) as check:
        with traefik(world.kubeconfig, world.directory / "edge") as edge:
            ours = {"operator": operator.process.pid, "ForwardAuth service": check.process.pid}
            yield {**ours, "Traefik": edge, **control, **etcd}


async def one_more(world: World, operator: RunningOperator, idle: float) -> tuple[float, ...]:
    """Return seconds by the operator and by direct writes, and the operator's processor time."""
    pid = operator.process.pid
    began, before = time.monotonic(), cpu_seconds(pid)
    by_operator = await world.order(MORE)
    await asyncio.sleep(AFTER_SECONDS)
    spent = cpu_seconds(pid) - before - idle * (time.monotonic() - began)
    with held(pid):
        directly = await world.write(MORE)
    await at_peace(operator)
    return by_operator, directly, spent


async def measure_size(world: World, size: int, rounds: int, rest_seconds: float) -> Size:
    """Let the world grow to a size, look at it at rest, and add some more in turns."""
    async with world.operating() as operator:
        if world.instances < size:
            say(f"{size} instances")
            await world.order(size - world.instances)
            await bench.until_settled(world.client, size)
        if size == NAMED_SIZE:
            say(f"{size} keys")
            await world.ask_for_keys()
        await at_peace(operator)
        say("at rest")
        async with everybody(world, operator) as pids:
            await asyncio.sleep(AFTER_SECONDS)
            rest = await resting(pids, rest_seconds)
        idle = rest["operator"].cpu_share
        turns = [await one_more(world, operator, idle) for _ in range(rounds)]
    return _summed(size, turns, rest, await restarted(world))


async def restarted(world: World) -> Restart:
    """Start an operator over the settled world, and probe it as a kubelet does until it is through."""
    before, began = await bench.versions(world.client), time.monotonic()
    async with bench.operating(world.kubeconfig, world.directory) as operator:
        probing = asyncio.create_task(_longest_probe(operator, through := asyncio.Event()))
        await world.until_passed(operator)
        seconds = time.monotonic() - began
        through.set()
        probe = await probing
        after = await bench.versions(world.client)
    return Restart(seconds, len({name for name, _ in before.items() ^ after.items()}), probe)


async def _longest_probe(operator: RunningOperator, through: asyncio.Event) -> float:
    """Return the most milliseconds that a probe took until something is through."""
    await eventually(operator.state, within=bench.DEADLINE_SECONDS, what="an operator that listens")
    longest = 0.0
    async with httpx.AsyncClient(timeout=bench.DEADLINE_SECONDS, trust_env=False) as http:
        while not through.is_set():
            began = time.monotonic()
            await http.get(f"http://127.0.0.1:{operator.port}/healthz")
            longest = max(longest, time.monotonic() - began)
            await asyncio.sleep(PROBE_SECONDS)
    return 1000 * longest


def _summed(
    size: int, turns: list[tuple[float, ...]], rest: Mapping[str, Rest], restart: Restart
) -> Size:
    ours, direct, cpu = (statistics.median(column) for column in zip(*turns, strict=True))
    return Size(
        instances=size,
        operator_ms=1000 * ours / MORE,
        direct_ms=1000 * direct / MORE,
        ratio=statistics.median(turn[0] / turn[1] for turn in turns),
        cpu_ms=1000 * cpu / MORE,
        rest=rest,
        restart_seconds=restart.seconds,
        restart_writes=restart.writes,
        restart_probe_ms=restart.probe_ms,
    )


async def measure(
    kubeconfig: Path, directory: Path, sizes: tuple[int, ...], rounds: int, rest: float
) -> list[Size]:
    """Measure one size after the other in the same world."""
    for name in ("check", "edge"):
        (directory / name).mkdir()
    async with await KubeClient.connect(kubeconfig) as client:
        await bench.furnish(client)
        world = World(client, kubeconfig, directory)
        found = []
        for size in sizes:
            found.append(await measure_size(world, size, rounds, rest))
            write_row(found[0], found[-1], sys.stderr)
        return found


def write_row(first: Size, size: Size, out: TextIO) -> None:
    """Write what came of one size, the growth since the first one first."""
    ours = size.rest["operator"]
    out.write(
        f"{size.instances} instances: processor time x{size.cpu_ms / first.cpu_ms:.2f}, "
        f"operator/direct x{size.ratio / first.ratio:.2f}   (at most {WANTED_GROWTH:g})\n"
        f"  one more          {size.operator_ms:.1f} ms, direct {size.direct_ms:.1f} ms, "
        f"ratio {size.ratio:.2f}, {size.cpu_ms:.1f} ms of processor time\n"
        f"  operator at rest  {ours.memory_mb:.0f} MB, {ours.cpu_share:.2%} of a core   "
        f"(at {NAMED_SIZE}: under {WANTED_MEMORY_MB:g} MB, {WANTED_IDLE_SHARE:.0%})\n"
        f"  restart           {size.restart_seconds:.1f} s, {size.restart_writes} writes, "
        f"probes answered within {size.restart_probe_ms:.0f} ms\n"
    )
    out.writelines(
        f"    {name:<24}{rest.memory_mb:6.0f} MB  {rest.cpu_share:6.2%}\n"
        for name, rest in size.rest.items()
    )


def report(sizes: list[Size], rounds: int) -> dict[str, Any]:
    """Return everything as plain data."""
    return {
        **described(),
        "batch": MORE,
        "rounds": rounds,
        "sizes": [asdict(size) for size in sizes],
    }


def say(text: str) -> None:
    """Tell a person how far it is."""
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Measure, print, and write JSON when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="ascending")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="pairs at each size")
    parser.add_argument("--rest", type=float, default=REST_SECONDS, help="seconds of idleness")
    options = parser.parse_args()
    wanted = (tuple(options.sizes), options.rounds, options.rest)
    with (
        tempfile.TemporaryDirectory(prefix="private-llm-bench-") as name,
        control_plane(Path(name), controllers=ALL_CONTROLLERS) as kubeconfig,
    ):
        sizes = asyncio.run(measure(kubeconfig, Path(name), *wanted))
    for size in sizes:
        write_row(sizes[0], size, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(sizes, options.rounds), indent=2) + "\n")


if __name__ == "__main__":
    main()
