"""The one mutable thing about a pod: what is known of it now, and who is told when that changes."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from privatellm.kube import KubeClient, Manifest
from privatellm_local.node.config import Timings
from privatellm_local.node.errors import WaitingReason
from privatellm_local.node.pod import Container, Pod
from privatellm_local.node.pods import adoption
from privatellm_local.node.pods.reporter import Reporter
from privatellm_local.node.pods.states import (
    ContainerState,
    PodState,
    Running,
    Terminated,
    TerminatedReason,
    Waiting,
)
from privatellm_local.node.pods.status import Report
from privatellm_local.node.process import ExitStatus
from privatellm_local.node.registry import LocalPod, PodRegistry

_log = logging.getLogger(__name__)


class PodRecord:
    """Knows a pod's object, address and containers; every change wakes the loops that act on it."""

    def __init__(
        self,
        manifest: Manifest,
        address: Callable[[Pod], str],
        *,
        client: KubeClient,
        registry: PodRegistry,
        timings: Timings,
        host_ip: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._reporter = Reporter(client, manifest)
        self._registry = registry
        self._timings = timings
        self._host_ip = host_ip
        self._clock = clock
        self._accepted_at = clock()
        self.state: PodState = adoption.adopt(self.pod, self._accepted_at)
        self.address = address(self.pod)
        self.wake = asyncio.Event()
        self.report_due = asyncio.Event()
        self.gone = asyncio.Event()
        self._changed()

    @property
    def pod(self) -> Pod:
        """The pod as last seen."""
        return self._reporter.pod

    @property
    def ending(self) -> bool:
        """Nothing of the pod may be started any more."""
        return self.state.terminating or self.gone.is_set()

    @property
    def report(self) -> Report:
        """What the API server shall know."""
        return Report(
            pod=self.pod,
            state=self.state,
            pod_ip=self.address,
            host_ip=self._host_ip,
            accepted_at=self._accepted_at,
            timings=self._timings,
        )

    async def publish(self) -> None:
        """Tell the API server what it does not know yet.

        Raises:
            KubernetesError: when it cannot be told.
        """
        await self._reporter.publish(self.report, self._clock())

    def update(self, manifest: Manifest) -> None:
        """Take over a new version of the object.

        Raises:
            InvalidObjectError: when it is not a pod that the node can read.
        """
        self._reporter.accept(manifest)
        self.state = replace(self.state, terminating=self.pod.terminating)
        self._changed()

    def forget(self) -> None:
        """Remember that the object is gone."""
        self.gone.set()
        self._changed()

    def begun(self, container: Container) -> ContainerState:
        """Return what the container's state will be when its next run starts now."""
        return self.state.of(container.name).begin(self._clock())

    def set(self, container: Container, state: ContainerState) -> None:
        """Take over a container's new state."""
        self.state = self.state.with_container(container.name, state)
        self._changed()

    def stopping(self, container: Container) -> None:
        """Remember that the present run was told to end."""
        state = self.state.of(container.name)
        if isinstance(state.state, Running):
            stopping = replace(state.state, stopping=True)
            self.set(container, replace(state, state=stopping, ready=False))

    def refuse(self, container: Container, reason: WaitingReason, message: str) -> None:
        """Remember why a container cannot be started, and when to try again."""
        state = self.state.of(container.name)
        if not (isinstance(state.state, Waiting) and state.state.message == message):
            _log.warning("pod %s: container %s: %s", self.pod.label, container.name, message)
        retry_at = self._clock() + timedelta(seconds=self._timings.retry)
        self.set(container, state.refuse(Waiting(reason, message, retry_at)))

    def end(
        self,
        container: Container,
        exit_status: ExitStatus,
        message: str,
        reason: TerminatedReason | None = None,
    ) -> None:
        """Remember how the present run ended."""
        state, now = self.state.of(container.name), self._clock()
        started_at = state.state.started_at if isinstance(state.state, Running) else now
        lasted = (now - started_at).total_seconds() >= self._timings.restart_backoff_reset
        code = exit_status.code
        _log.info("pod %s: container %s ended with code %d", self.pod.label, container.name, code)
        ended = Terminated(
            exit_code=code,
            reason=reason or (TerminatedReason.ERROR if code else TerminatedReason.COMPLETED),
            finished_at=now,
            started_at=started_at,
            signal=exit_status.signal,
            message=message,
        )
        self.set(container, state.end(ended, soon=not lasted))

    def withdraw(self) -> None:
        """Take the pod away from the Services."""
        self._registry.remove(self.pod.metadata.uid)

    async def wait(self, due: datetime | None) -> None:
        """Wait for the next change, or until a time."""
        seconds = (due - self._clock()).total_seconds() if due else None
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            return
        self.wake.clear()

    def _changed(self) -> None:
        if not self.gone.is_set():
            self._registry.put(self._as_local_pod())
        self.wake.set()
        self.report_due.set()

    def _as_local_pod(self) -> LocalPod:
        metadata = self.pod.metadata
        return LocalPod(
            uid=metadata.uid,
            namespace=metadata.namespace,
            labels=metadata.labels,
            address=self.address,
            containers=self.pod.spec.containers,
            ready=self.report.ready,
        )


class Verdicts:
    """Takes over what the probes say about a container's present run."""

    def __init__(self, record: PodRecord, container: Container) -> None:
        self._record = record
        self._container = container

    def started(self) -> None:
        """Without a readiness probe a started container is ready."""
        self._judge(
            replace(self._state, started=True, ready=self._container.readiness_probe is None)
        )

    def ready(self, ready: bool) -> None:  # noqa: FBT001 - a value, not an option
        """Take over the readiness probe's opinion."""
        self._judge(replace(self._state, ready=ready))

    def failed(self, message: str) -> None:
        """Have the container stopped."""
        _log.warning(
            "pod %s: container %s: %s", self._record.pod.label, self._container.name, message
        )
        self._judge(replace(self._state, failed_probe=message))

    @property
    def _state(self) -> ContainerState:
        return self._record.state.of(self._container.name)

    def _judge(self, state: ContainerState) -> None:
        # A probe that was answered while the process ended has nothing to say any more.
        if isinstance(state.state, Running) and not state.state.stopping:
            self._record.set(self._container, state)
