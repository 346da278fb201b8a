"""How a process leaves: its passes finish, nothing new begins, and the Lease is released last."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

import privatellm_sync_agent.process as leaving
from eventually import eventually
from privatellm.errors import UnavailableError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm.kube.lease import Lease, LeaseLostError, LeaseSettings
from privatellm.telemetry import otlp
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine.gate import Gate
from privatellm_sync_agent.engine.queue import WorkQueue
from privatellm_sync_agent.listeners import Readiness
from privatellm_sync_agent.process import AgentProcess, unless_stopped

CHART = Path(__file__).parents[3] / "charts/private-llm-sync-agent/templates/deployment.yaml"
SETTINGS = LeaseSettings("system", "syncagent.x", "us", renew_every=0.01, retry_every=0.01)


class Api:
    """An API server that keeps one Lease.

    Attributes:
        lease: The Lease; ``None`` before there is one.
        told: What happened, in order.
    """

    def __init__(self, told: list[str]) -> None:
        self.lease: Manifest | None = None
        self.told = told

    async def get(self, _kind: Kind, _name: str, _namespace: str) -> Manifest | None:
        """Return the Lease."""
        return self.lease

    async def create(self, _kind: Kind, manifest: Manifest) -> None:
        """Keep the Lease."""
        manifest["metadata"]["resourceVersion"] = "1"
        self._keep(manifest)

    async def replace(self, _kind: Kind, manifest: Manifest) -> None:
        """Keep the Lease."""
        self._keep(manifest)

    def hold_by(self, holder: str) -> None:
        """Let somebody hold it."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 60}
        self.lease = {"metadata": {"resourceVersion": "7"}, "spec": spec}

    def _keep(self, manifest: Manifest) -> None:
        holder = manifest["spec"]["holderIdentity"]
        before = self.lease["spec"]["holderIdentity"] if self.lease else ""
        if holder != before:
            self.told.append(f"lease of {holder or 'nobody'}")
        self.lease = manifest


class Worker:
    """An agent with one queue, whose passes end when the test says so."""

    def __init__(self, told: list[str]) -> None:
        self.told = told
        self.gate = Gate()
        self.queue: WorkQueue[str] = WorkQueue(gate=self.gate)
        self.end = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            await self.queue.run(self._pass, workers=2)
        finally:
            self.told.append("followed to the end")

    async def finish(self) -> None:
        """Let running passes end."""
        await self.gate.finish()

    async def _pass(self, key: str) -> None:
        self.told.append(f"{key} begun")
        await self.end.wait()
        self.told.append(f"{key} done")


class Running:
    """A process with its parts."""

    def __init__(self, finish_seconds: float, *, elects: bool) -> None:
        self.told: list[str] = []
        self.api = Api(self.told)
        self.worker = Worker(self.told)
        self.stop = asyncio.Event()
        agent = cast("Agent", self.worker)
        self.now = 0.0
        client = cast("KubeClient", self.api)
        lease = Lease(client, SETTINGS, clock=lambda: self.now) if elects else None
        self.readiness = Readiness(agent, lease)
        self._process = AgentProcess(
            agent, lease, self.readiness, self.stop, finish_seconds=finish_seconds
        )
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it."""
        self.task = asyncio.create_task(self._process.run())

    async def ended(self) -> None:
        """Wait until it has ended."""
        assert self.task is not None
        await asyncio.wait_for(self.task, 5)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something."""

        async def look() -> bool:
            return condition()

        await eventually(look, within=5, what=what)

    async def begin(self, key: str) -> None:
        """Begin a pass."""
        self.worker.queue.add(key)
        await self.until(lambda: f"{key} begun" in self.told, f"a pass over {key}")


@asynccontextmanager
async def process(finish_seconds: float = 5.0, *, elects: bool = True) -> AsyncIterator[Running]:
    running = Running(finish_seconds, elects=elects)
    try:
        yield running
    finally:
        if running.task is not None:
            running.task.cancel()
            await asyncio.gather(running.task, return_exceptions=True)


async def test_a_running_pass_finishes_before_the_lease_is_released() -> None:
    """And what was asked for after the signal is left to the next leader."""
    async with process() as running:
        running.start()
        await running.begin("a")

        running.stop.set()
        await running.until(lambda: running.readiness.state == "stopping", "the end's beginning")
        running.worker.queue.add("late")
        running.worker.end.set()
        await running.ended()

        assert running.told == [
            "lease of us",
            "a begun",
            "a done",
            "followed to the end",
            "lease of nobody",
        ]


async def test_a_pass_that_takes_too_long_is_cut_off() -> None:
    """A server that does not answer keeps no process alive."""
    async with process(finish_seconds=0.05) as running:
        running.start()
        await running.begin("a")

        running.stop.set()
        await running.ended()

        assert running.told[-2:] == ["followed to the end", "lease of nobody"]
        assert "a done" not in running.told


async def test_a_process_without_a_lease_lets_its_passes_finish_as_well() -> None:
    async with process(elects=False) as running:
        running.start()
        await running.begin("a")

        running.stop.set()
        running.worker.end.set()
        await running.ended()

        assert running.told == ["a begun", "a done", "followed to the end"]


async def test_a_process_that_was_suspended_does_not_say_that_it_leads() -> None:
    """Before its next renewal somebody else may have the Lease."""
    async with process() as running:
        running.start()
        await running.until(lambda: running.readiness.is_leading, "a leader")

        running.now += SETTINGS.duration

        assert running.readiness.state == "leading"
        assert not running.readiness.is_leading
        await running.until(lambda: running.readiness.is_leading, "a renewed Lease")


async def test_a_process_without_a_lease_leads_from_its_beginning() -> None:
    async with process(elects=False) as running:
        running.start()
        await running.until(lambda: running.readiness.is_leading, "a leader")


async def test_a_stand_by_leaves_at_once() -> None:
    """It has nothing to finish, and leaves the Lease to its holder."""
    async with process() as running:
        running.api.hold_by("another")
        running.start()
        await running.until(lambda: running.readiness.state == "standby", "a stand-by")

        running.stop.set()
        await running.ended()

        assert running.told == []


async def test_who_lost_the_lease_finishes_nothing() -> None:
    """Not even when it is asked to stop: somebody else writes now."""
    async with process() as running:
        running.start()
        await running.begin("a")
        running.stop.set()
        await running.until(lambda: running.readiness.state == "stopping", "the end's beginning")

        running.api.hold_by("another")
        with pytest.raises(LeaseLostError):
            await running.ended()

        assert running.told[1:] == ["a begun", "followed to the end"]


async def test_work_is_dropped_when_somebody_asks_to_stop() -> None:
    """A server that does not answer at the start keeps no process alive."""
    stop, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        stop.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    assert await asyncio.wait_for(unless_stopped(stop, work()), 5) is None
    assert cancelled.is_set()


async def test_work_that_nobody_interrupts_ends_as_it_would() -> None:
    async def answer() -> int:
        return 7

    async def failure() -> int:
        raise UnavailableError("no answer")

    assert await unless_stopped(asyncio.Event(), answer()) == 7
    with pytest.raises(UnavailableError):
        await unless_stopped(asyncio.Event(), failure())


def test_the_chart_gives_a_process_the_time_to_leave() -> None:
    """Passes, the Lease and the last spans, one after the other."""
    [grace] = re.findall(r"terminationGracePeriodSeconds: (\d+)", CHART.read_text())

    assert int(grace) > leaving.FINISH_SECONDS + leaving.RELEASE_SECONDS + otlp.CLOSE_SECONDS
