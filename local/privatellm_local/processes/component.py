"""The life of one component: wait, start, probe, notice the end, pause, start again."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from privatellm_local.processes import logs, probe
from privatellm_local.processes.backoff import Backoff
from privatellm_local.processes.child import Child
from privatellm_local.processes.identity import identify
from privatellm_local.processes.specification import ComponentSpec
from privatellm_local.processes.status import ComponentState, ComponentStatus

log = logging.getLogger(__name__)

STARTING_PROBE_SECONDS = 0.1
"""Pause between probes while somebody waits for the component."""

READY_PROBE_SECONDS = 10.0
"""Pause between probes of a component that is ready."""

FAILURES_UNTIL_UNREADY = 3


class Component:
    """Keeps one process running until it is told to stop."""

    def __init__(
        self,
        spec: ComponentSpec,
        *,
        log: Path,
        environment: Mapping[str, str],
        changed: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.status = ComponentStatus(
            name=spec.name, state=ComponentState.WAITING, address=spec.address
        )
        self.was_ready = asyncio.Event()
        self._log = log
        self._environment = {**environment, **spec.environment}
        self._changed = changed
        self._child: Child | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, dependencies: list[Self]) -> None:
        """Begin to supervise, as soon as the dependencies have been ready."""
        self._task = asyncio.create_task(self._supervise(dependencies), name=self.spec.name)
        self._task.add_done_callback(_report_fault)

    async def stop(self) -> None:
        """End the process and do not start it again."""
        self._set(state=ComponentState.STOPPING)
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._child:
            await self._child.stop(self.spec.stop_grace_seconds)
        self._set(state=ComponentState.STOPPED, process=None, started_at=None)

    async def _supervise(self, dependencies: list[Self]) -> None:
        for dependency in dependencies:
            await dependency.was_ready.wait()
        backoff = Backoff()
        while True:
            began = time.monotonic()
            message = await self._run_once()
            backoff = backoff.after_run(time.monotonic() - began)
            self._set(
                state=ComponentState.BACKOFF,
                process=None,
                started_at=None,
                restarts=self.status.restarts + 1,
                message=message,
            )
            await asyncio.sleep(backoff.delay)

    async def _run_once(self) -> str:
        try:
            logs.rotate(self._log)
            offset = logs.size(self._log)
            self._child = Child.start(self.spec.argv, self._environment, self._log)
        except OSError as error:
            return f"could not be started: {error}"
        self._set(
            state=ComponentState.STARTING,
            process=identify(self._child.pid),
            started_at=datetime.now(UTC),
        )
        watcher = asyncio.create_task(self._watch_readiness())
        try:
            code = await self._child.wait()
        finally:
            watcher.cancel()
        self._child = None
        return _explanation(code, logs.tail(self._log, since=offset))

    async def _watch_readiness(self) -> None:
        failures = 0
        while True:
            if await probe.is_ready(self.spec.probe):
                failures = 0
                self.was_ready.set()
                self._set(state=ComponentState.READY)
            elif self.status.state is ComponentState.READY:
                failures += 1
                if failures >= FAILURES_UNTIL_UNREADY:
                    self._set(state=ComponentState.UNREADY)
            await asyncio.sleep(self._pause(failures))

    def _pause(self, failures: int) -> float:
        if self.status.state is ComponentState.READY:
            return READY_PROBE_SECONDS if failures == 0 else 1.0
        return STARTING_PROBE_SECONDS if self.status.state is ComponentState.STARTING else 1.0

    def _set(self, **changes: object) -> None:
        status = self.status.model_copy(update=changes)
        if status != self.status:
            self.status = status
            self._changed()


def _report_fault(task: "asyncio.Task[None]") -> None:
    # Supervision ends only by being cancelled; anything else is a fault of ours and must be seen.
    if not task.cancelled() and (fault := task.exception()):
        log.error("%s is not supervised any more", task.get_name(), exc_info=fault)


def _explanation(code: int, last_lines: list[str]) -> str:
    how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
    return f"{how}: {last_lines[-1]}" if last_lines else how
