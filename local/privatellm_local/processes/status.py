"""What the supervisor runs: ``run/status.json``, replaced as a whole on every change.

Whether there is a supervisor is not decided here: its lock says so. A report that is missing, damaged or
from an earlier supervisor makes the details unknown, never the supervisor.
"""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from privatellm_local import files
from privatellm_local.paths import StatePaths
from privatellm_local.processes import holding
from privatellm_local.processes.identity import ProcessIdentity, is_alive, started_at

UNREPORTED = (
    "It ended, which the supervisor has not reported; if this stays, look whether the disk is full."
)


class ComponentState(StrEnum):
    """Where a component is in its life."""

    WAITING = "waiting"
    """Another component must be ready first."""

    STARTING = "starting"
    """The process runs, its probe has not succeeded yet."""

    READY = "ready"
    UNREADY = "unready"
    """It was ready and its probe fails now."""

    BACKOFF = "backoff"
    """It ended and is started again after a pause."""

    STOPPING = "stopping"
    STOPPED = "stopped"


RUNNING = (ComponentState.STARTING, ComponentState.READY, ComponentState.UNREADY)
"""The states in which a component has a process."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class ComponentStatus(_Model):
    """What is known about one component."""

    name: str
    state: ComponentState
    address: str
    process: ProcessIdentity | None = None
    started_at: datetime | None = None
    restarts: int = 0
    """How often the process ended by itself."""

    message: str = ""
    """Why it ended last, in one line."""

    @property
    def cause_is_known(self) -> bool:
        """Whether the supervisor has told why it ended; a reader may see the end first."""
        return self.message != UNREPORTED


class SupervisorStatus(_Model):
    """What one supervisor runs."""

    supervisor: ProcessIdentity
    started_at: datetime
    generation: str = ""
    """Digest of the components file that this status follows; empty while none was reported."""

    stopping: bool = False
    components: tuple[ComponentStatus, ...] = ()

    def component(self, name: str) -> ComponentStatus | None:
        """Return what is known about one component."""
        return next((item for item in self.components if item.name == name), None)


def write(paths: StatePaths, status: SupervisorStatus) -> None:
    """Publish a status."""
    files.write_atomically(
        paths.status_file, status.model_dump_json(by_alias=True, indent=2) + "\n"
    )


def read(paths: StatePaths) -> SupervisorStatus | None:
    """Return the last status that was published, or ``None``; its supervisor may be long gone."""
    text = files.read_text(paths.status_file)
    try:
        return SupervisorStatus.model_validate_json(text) if text else None
    except ValidationError:
        # Another release wrote it, or somebody has damaged it.
        return None


def read_living(paths: StatePaths) -> SupervisorStatus | None:
    """Return the status of the supervisor that runs now, without details when it reported none.

    ``None`` means that no supervisor runs.
    """
    owner = holding.living(paths.supervisor_lock)
    if owner is None or owner.process is None:
        return None
    reported = read(paths)
    if reported is not None and reported.supervisor == owner.process:
        components = tuple(map(_as_it_is, reported.components))
        return reported.model_copy(update={"components": components})
    return SupervisorStatus(supervisor=owner.process, started_at=started_at(owner.process))


def _as_it_is(reported: ComponentStatus) -> ComponentStatus:
    """Take back what a report says of a process that is gone: on a full disk reports stop, too."""
    if reported.state not in RUNNING or not reported.process or is_alive(reported.process):
        return reported
    return reported.model_copy(
        update={"state": ComponentState.BACKOFF, "process": None, "message": UNREPORTED}
    )
