"""What the operator costs: new instances beside the same writes issued directly, a restart, and idleness.

Run ``python tests/bench/reconcile_bench.py --instances 100 --json FILE``. It starts a control plane of its
own for every round (etcd, kube-apiserver and the controller manager, from the cached programs) and runs
the operator as its real process. Rounds with and without the operator alternate, so that what else the
machine does falls on both alike. Ratios are printed first: absolute times belong to the machine.

* ``new``: from the first order until a watch has seen every Ingress, replicas 0;
* ``restart``: from the start of the process until a pass over every settled instance has ended;
* ``settled``: a minute in which nothing happens; writes are counted by the objects' resource versions and
  by ``apiserver_request_total``, where the writes of all clients count but those to Leases.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

import operator_bench as bench
from bench_machine import described
from privatellm.kube import KubeClient
from token_control_plane import ALL_CONTROLLERS, control_plane

WANTED_RATIO = 1.5
WANTED_RESTART_SECONDS = 20.0
SETTLED_SECONDS = 60.0


@dataclass(frozen=True)
class Idleness:
    """A stretch of time in which nothing should be written.

    Attributes:
        seconds: Its length.
        changed: Objects whose resource version moved.
        requests: Writes that the API server served, by resource.
        cpu_seconds: Processor time of the operator.
    """

    seconds: float
    changed: int
    requests: dict[str, int]
    cpu_seconds: float


@dataclass(frozen=True)
class Figures:
    """Everything that one run measured, in seconds and megabytes."""

    instances: int
    ratio: float
    direct: list[float]
    operator: list[float]
    operator_cpu: float
    operator_peak_mb: float
    restart_seconds: float
    restart: Idleness
    settled: Idleness
    restarted_memory_mb: float
    load_average: list[tuple[float, float, float]]


async def direct_round(kubeconfig: Path, count: int) -> float:
    """Issue the writes of so many instances without an operator."""
    async with await KubeClient.connect(kubeconfig) as client:
        await bench.furnish(client)
        return await bench.until_every_ingress(
            client, count, lambda: bench.write_directly(client, count)
        )


async def operator_round(kubeconfig: Path, directory: Path, count: int) -> tuple[float, bench.Cost]:
    """Order so many instances of a running operator and leave a settled world behind."""
    async with await KubeClient.connect(kubeconfig) as client:
        await bench.furnish(client)
        async with bench.operating(kubeconfig, directory) as operator:
            await bench.until_equipped(client)
            await bench.until_passed(operator, bench.WARM_UP_INSTANCES)
            seconds = await bench.until_every_ingress(
                client, count, lambda: bench.order_all(client, count)
            )
            await bench.until_settled(client, count)
            return seconds, bench.Cost.of(operator.process.pid)


async def restart_round(
    kubeconfig: Path, directory: Path, count: int, settled_seconds: float
) -> tuple[float, Idleness, Idleness, bench.Cost]:
    """Start an operator over the settled world, then leave it alone for a while."""
    async with await KubeClient.connect(kubeconfig) as client:
        watch = await Watch.begin(client)
        async with bench.operating(kubeconfig, directory) as operator:
            pid = operator.process.pid
            await bench.until_passed(operator, count + bench.WARM_UP_INSTANCES)
            seconds = time.monotonic() - watch.started
            restart = await watch.end(client, bench.Cost.of(pid).cpu_seconds)
            watch, before = await Watch.begin(client), bench.Cost.of(pid)
            await asyncio.sleep(settled_seconds)
            cost = bench.Cost.of(pid)
            settled = await watch.end(client, cost.cpu_seconds - before.cpu_seconds)
            return seconds, restart, settled, cost


@dataclass(frozen=True)
class Watch:
    """What was there when a stretch of time began."""

    started: float
    versions: dict[str, str]
    writes: dict[str, int]

    @classmethod
    async def begin(cls, client: KubeClient) -> "Watch":
        """Look, then start the clock."""
        seen = await bench.versions(client)
        return cls(versions=seen, writes=await bench.writes(client), started=time.monotonic())

    async def end(self, client: KubeClient, cpu_seconds: float) -> Idleness:
        """Look again and count what changed."""
        seconds = time.monotonic() - self.started
        requests = await bench.writes(client)
        seen = await bench.versions(client)
        changed = {name for name, _ in self.versions.items() ^ seen.items()}
        requests.subtract(self.writes)
        return Idleness(seconds, len(changed), dict(+requests), cpu_seconds)


def measure(count: int, rounds: int, settled_seconds: float, directory: Path) -> Figures:
    """Do all rounds; the last one of the operator is restarted."""
    direct: list[float] = []
    operator: list[float] = []
    loads = [os.getloadavg()]
    for number in range(rounds):
        place = directory / f"direct-{number}"
        place.mkdir()
        with control_plane(place, controllers=ALL_CONTROLLERS) as kubeconfig:
            direct.append(asyncio.run(direct_round(kubeconfig, count)))
        loads.append(os.getloadavg())
        place = directory / f"operator-{number}"
        place.mkdir()
        with control_plane(place, controllers=ALL_CONTROLLERS) as kubeconfig:
            seconds, cost = asyncio.run(operator_round(kubeconfig, place, count))
            operator.append(seconds)
            loads.append(os.getloadavg())
            say(f"direct {direct[-1]:.1f} s, operator {seconds:.1f} s")
            if number == rounds - 1:
                again = asyncio.run(restart_round(kubeconfig, place, count, settled_seconds))
    restart_seconds, restart, settled, after = again
    return Figures(
        instances=count,
        ratio=statistics.median(o / d for o, d in zip(operator, direct, strict=True)),
        direct=direct,
        operator=operator,
        operator_cpu=cost.cpu_seconds,
        operator_peak_mb=cost.peak_mb,
        restart_seconds=restart_seconds,
        restart=restart,
        settled=settled,
        restarted_memory_mb=after.memory_mb,
        load_average=loads,
    )


def write_table(figures: Figures, out: TextIO) -> None:
    """Write the ratio first, then what it was made of."""
    direct, operator = statistics.median(figures.direct), statistics.median(figures.operator)
    restart, settled = figures.restart, figures.settled
    out.write(
        f"\n{figures.instances} new instances until every Ingress exists\n"
        f"  operator/direct   {figures.ratio:.2f}   (at most {WANTED_RATIO:g})\n"
        f"  direct            {direct:.1f} s\n"
        f"  operator          {operator:.1f} s, {figures.operator_cpu:.1f} s of processor time, "
        f"at most {figures.operator_peak_mb:.0f} MB\n"
        f"restart over {figures.instances} settled instances\n"
        f"  converged in      {figures.restart_seconds:.1f} s   "
        f"(under {WANTED_RESTART_SECONDS:g} s), {restart.cpu_seconds:.1f} s of processor time\n"
        f"  writes            {restart.changed} by version, {restart.requests or 'none'} by request\n"
        f"settled for {settled.seconds:.0f} s\n"
        f"  writes            {settled.changed} by version, {settled.requests or 'none'} by request\n"
        f"  operator          {settled.cpu_seconds:.2f} s of processor time, "
        f"{figures.restarted_memory_mb:.0f} MB\n"
        f"load average of the machine, round by round: "
        f"{', '.join(f'{load[0]:.1f}' for load in figures.load_average)}\n"
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
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3, help="pairs of direct and operator")
    parser.add_argument(
        "--settled", type=float, default=SETTLED_SECONDS, help="seconds in which nobody writes"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="private-llm-bench-") as directory:
        wanted = (options.instances, options.rounds, options.settled)
        figures = measure(*wanted, Path(directory))
    write_table(figures, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report(figures), indent=2) + "\n")


if __name__ == "__main__":
    main()
