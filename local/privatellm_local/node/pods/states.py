"""What is known about the containers of a pod at one moment: values without behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self, TypeAlias

from privatellm_local.node.errors import WaitingReason


class TerminatedReason(StrEnum):
    """Why a container's run ended, in the words a kubelet uses."""

    COMPLETED = "Completed"
    ERROR = "Error"
    START_ERROR = "StartError"
    UNKNOWN = "ContainerStatusUnknown"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not started, or refused."""

    reason: WaitingReason = WaitingReason.CONTAINER_CREATING
    message: str = ""
    retry_at: datetime | None = None
    """The earliest moment for another try; ``None`` means now."""


@dataclass(frozen=True, slots=True)
class Running:
    """Started, and not known to have ended."""

    started_at: datetime
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended."""

    exit_code: int
    reason: TerminatedReason
    finished_at: datetime
    started_at: datetime | None = None
    signal: int | None = None
    message: str = ""


State: TypeAlias = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One container: its present run, the one before, and what its probes say."""

    state: State = Waiting()
    last: Terminated | None = None
    """The run before the present one."""

    restarts: int = 0
    """Runs before the present one, which is also the number of the present run."""

    crashes: int = 0
    """Runs in a row that ended soon; decides the pause before the next one."""

    started: bool = False
    """The startup probe has passed, or there is none."""

    ready: bool = False
    """The readiness probe passes, or there is none."""

    failed_probe: str = ""
    """What a startup or liveness probe said when it gave the container up."""

    @property
    def running(self) -> bool:
        """A process is there."""
        return isinstance(self.state, Running)

    @property
    def completed(self) -> bool:
        """It did what it had to do, and ended."""
        return isinstance(self.state, Terminated) and self.state.exit_code == 0

    def begin(self, now: datetime) -> Self:
        """Return the state with a new run, which is a restart when there was one before."""
        previous = self.state if isinstance(self.state, Terminated) else self.last
        return replace(
            self,
            state=Running(now),
            last=previous,
            restarts=self.restarts + (1 if previous else 0),
            started=False,
            ready=False,
            failed_probe="",
        )

    def end(self, terminated: Terminated, *, soon: bool) -> Self:
        """Return the state after the present run ended; ``soon`` when it did not last."""
        return replace(
            self,
            state=terminated,
            crashes=self.crashes + 1 if soon else 1,
            started=False,
            ready=False,
        )

    def refuse(self, waiting: Waiting) -> Self:
        """Return the state after a start was refused; an ended run becomes the last one."""
        previous = self.state if isinstance(self.state, Terminated) else self.last
        return replace(self, state=waiting, last=previous, started=False, ready=False)


@dataclass(frozen=True, slots=True)
class PodState:
    """The containers of one pod by name, and what was asked of it meanwhile."""

    containers: Mapping[str, ContainerState] = field(default_factory=dict)
    terminating: bool = False

    def of(self, name: str) -> ContainerState:
        """Return a container's state."""
        return self.containers[name]

    def with_container(self, name: str, state: ContainerState) -> Self:
        """Return the state with one container replaced."""
        return replace(self, containers={**self.containers, name: state})
