"""One pod from its acceptance to its removal.

Everything that happens (a new object, an ended process, a probe's answer, a due time) only changes the
pod's record and wakes this loop, which asks :func:`.lifecycle.plan` what to do. Reports go out from a
second loop, so an API server that is away delays no restart. A report is compared with the object as
last seen, not as last written: when somebody else marks the pod unready (the node controller does after
a long pause of the agent), the next look puts it right.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from privatellm.errors import ConflictError, KubernetesError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import POD
from privatellm_local.node import files, logs
from privatellm_local.node.addresses import AddressPool
from privatellm_local.node.config import Timings
from privatellm_local.node.errors import ContainerRefusedError, WaitingReason
from privatellm_local.node.pod import Container, Pod
from privatellm_local.node.pods import launch, lifecycle, unlogged
from privatellm_local.node.pods.launch import Launcher
from privatellm_local.node.pods.lifecycle import Plan, Start, Stop
from privatellm_local.node.pods.record import PodRecord, Verdicts
from privatellm_local.node.pods.run import ContainerRun
from privatellm_local.node.pods.states import TerminatedReason
from privatellm_local.node.probes import Prober
from privatellm_local.node.process import ExitStatus, ProcessStartError
from privatellm_local.node.registry import PodRegistry

_log = logging.getLogger(__name__)

_START_FAILED = ExitStatus(128)
"""What container runtimes report for a program that could not be started."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What every worker of a node shares."""

    client: KubeClient
    launcher: Launcher
    prober: Prober
    registry: PodRegistry
    addresses: AddressPool
    timings: Timings
    host_ip: str
    clock: Callable[[], datetime]


class PodWorker:
    """Runs one pod."""

    def __init__(self, manifest: Manifest, tools: Tools) -> None:
        """Accept a pod.

        Raises:
            InvalidObjectError: when it is not a pod that the node can read.
            NodeError: when there is no address for it.
        """
        self._tools = tools
        self._record = PodRecord(
            manifest,
            self._take_address,
            client=tools.client,
            registry=tools.registry,
            timings=tools.timings,
            host_ip=tools.host_ip,
            clock=tools.clock,
        )
        self._runs: dict[str, ContainerRun] = {}
        self._halted = False

    @property
    def pod(self) -> Pod:
        """The pod as last seen."""
        return self._record.pod

    def update(self, manifest: Manifest) -> None:
        """Take over a new version of the pod."""
        self._record.update(manifest)

    def forget(self) -> None:
        """End everything at once, because the object is gone."""
        self._record.forget()

    async def run(self) -> None:
        """Run the pod until its object is gone."""
        try:
            async with asyncio.TaskGroup() as group:
                reporting = group.create_task(self._keep_reporting())
                refreshing = group.create_task(self._keep_fresh())
                await self._live(group)
                reporting.cancel()
                refreshing.cancel()
        finally:
            self._record.withdraw()
        await self._clean_up()
        await self._remove_object()

    async def stop(self, grace_seconds: float) -> None:
        """End every container for good, because the agent ends; nothing is reported."""
        self._halted = True
        await asyncio.gather(*(run.stop(grace_seconds) for run in self._runs.values()))

    def log_source(self, container: str, *, previous: bool) -> logs.LogSource | None:
        """Return where a container's output is, or ``None`` when it has no such run."""
        state = self._record.state.containers.get(container)
        if state is None:
            return None
        own = self._tools.launcher.container_dir(self.pod, container)
        path = logs.log_file(own, state.restarts - (1 if previous else 0))
        run = None if previous else self._runs.get(container)
        ended = lambda: run is None or self._runs.get(container) is not run  # noqa: E731
        return logs.LogSource(path, ended) if path.is_file() else None

    def why_no_log(self, container: str, *, previous: bool) -> str | None:
        """Return why a container's run has no log; ``None`` when the pod has no such container."""
        state = self._record.state.containers.get(container)
        if state is None:
            return None
        return unlogged.explanation(self.pod.metadata.name, container, state, previous=previous)

    def _take_address(self, pod: Pod) -> str:
        reported = pod.status.pod_ip
        if pod.finished and reported:
            return reported  # It listens nowhere, and its address may be another pod's by now.
        return self._tools.addresses.take(pod.metadata.uid, reported)

    async def _live(self, group: asyncio.TaskGroup) -> None:
        """Do what is due until the pod has to go and nothing of it runs."""
        record = self._record
        while self._runs or not record.ending:
            if record.gone.is_set():
                for run in self._runs.values():
                    run.kill()
            plan = self._plan()
            for step in plan.steps:
                await self._apply(step, group)
            if not plan.steps:
                await record.wait(plan.wake_at)

    def _plan(self) -> Plan:
        if self._halted:
            return Plan()
        now, timings = self._tools.clock(), self._tools.timings
        return lifecycle.plan(self.pod, self._record.state, now, timings)

    async def _apply(self, step: Start | Stop, group: asyncio.TaskGroup) -> None:
        match step:
            case Start(container=container):
                if run := await self._start(container):
                    self._runs[container.name] = run
                    group.create_task(self._attend(container, run))
            case Stop(container=container, grace_seconds=grace):
                self._record.stopping(container)
                if present := self._runs.get(container.name):
                    group.create_task(present.stop(grace))

    async def _start(self, container: Container) -> ContainerRun | None:
        """Start a container's next run; every way in which it can fail ends in its state."""
        record, begun = self._record, self._record.begun(container)
        try:
            prepared = await self._tools.launcher.prepare(self.pod, record.address)
            if record.ending or self._halted:
                return None  # It was asked to end while its volumes were prepared.
            process = await self._tools.launcher.start(container, prepared, begun.restarts)
        except ContainerRefusedError as error:
            record.refuse(container, error.reason, str(error))
        except KubernetesError as error:
            record.refuse(container, WaitingReason.CONTAINER_CREATING, str(error))
        except OSError as error:
            message = f"The node cannot write what the container needs: {error}"
            record.refuse(container, WaitingReason.CREATE_CONTAINER_CONFIG_ERROR, message)
        except ProcessStartError as error:
            record.set(container, begun)
            record.end(container, _START_FAILED, str(error), TerminatedReason.START_ERROR)
        else:
            _log.info("pod %s: %s is process %d", self.pod.label, container.name, process.pid)
            record.set(container, begun)
            return ContainerRun(container, process)
        return None

    async def _attend(self, container: Container, run: ContainerRun) -> None:
        record = self._record
        verdicts = Verdicts(record, container)
        try:
            exit_status = await run.attend(self._tools.prober, record.address, verdicts)
        finally:
            del self._runs[container.name]
        own = self._tools.launcher.container_dir(self.pod, container.name)
        number = record.state.of(container.name).restarts
        message = launch.termination_message(container, own, number, exit_status)
        record.end(container, exit_status, message)

    async def _keep_reporting(self) -> None:
        record = self._record
        while True:
            await record.report_due.wait()
            record.report_due.clear()
            try:
                await record.publish()
            except KubernetesError as error:
                _log.warning("pod %s: its status cannot be written: %s", self.pod.label, error)
                await asyncio.sleep(self._tools.timings.retry)
                record.report_due.set()

    async def _keep_fresh(self) -> None:
        """Follow changed Secrets and ConfigMaps, renew tokens, and bound the logs."""
        while True:
            await asyncio.sleep(self._tools.timings.volume_refresh)
            try:
                await self._refresh()
            except (ContainerRefusedError, KubernetesError, OSError) as error:
                # What the containers have stays as it is until the next turn.
                _log.warning("pod %s: its volumes cannot be refreshed: %s", self.pod.label, error)

    async def _refresh(self) -> None:
        if not self._runs:
            return
        await self._tools.launcher.prepare(self.pod, self._record.address)
        sources = [self.log_source(name, previous=False) for name in self._runs]
        for source in filter(None, sources):
            await asyncio.to_thread(logs.rotate, source.path)

    async def _clean_up(self) -> None:
        """Free what the pod had on this node."""
        uid = self.pod.metadata.uid
        await asyncio.to_thread(files.remove, self._tools.launcher.pod_dir(self.pod))
        self._tools.launcher.tokens.forget(uid)

    async def _remove_object(self) -> None:
        """Report the end and remove the object, which a graceful deletion leaves to the node.

        A finalizer can hold the object; then there is nothing left to do but to wait.
        """
        tools, record = self._tools, self._record
        removed = False
        while not record.gone.is_set():
            try:
                if not removed:
                    await record.publish()
                    removed = await self._delete()
            except KubernetesError as error:
                _log.warning("pod %s cannot be removed yet: %s", self.pod.label, error)
            due = tools.clock() + timedelta(seconds=tools.timings.retry)
            await record.wait(None if removed else due)
        tools.addresses.release(self.pod.metadata.uid)

    async def _delete(self) -> bool:
        metadata = self.pod.metadata
        try:
            await self._tools.client.delete(
                POD, metadata.name, metadata.namespace, uid=metadata.uid, grace_period_seconds=0
            )
        except ConflictError:
            _log.info("pod %s was replaced by another one of that name", self.pod.label)
        return True
