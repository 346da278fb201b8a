"""``run/ready.json``: which supervisor the last ``up`` finished with, and what it had set up.

An environment is complete when that supervisor still runs and every component of it is ready. The
marker dies with the supervisor, so nothing has to be cleaned up after a crash.
"""

from importlib.metadata import version

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from privatellm_local import files, readiness
from privatellm_local.paths import StatePaths
from privatellm_local.processes import status
from privatellm_local.processes.identity import ProcessIdentity
from privatellm_local.processes.status import SupervisorStatus


class Completion(BaseModel):
    """What an ``up`` that finished had set up."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    supervisor: ProcessIdentity
    demo: bool
    platform: bool = True
    kcp: bool = False
    release: str
    """Version of this distribution; another one may bring other objects."""


def record(
    paths: StatePaths,
    current: SupervisorStatus,
    *,
    demo: bool,
    platform: bool = True,
    kcp: bool = False,
) -> None:
    """Remember that everything is set up."""
    done = Completion(
        supervisor=current.supervisor, demo=demo, platform=platform, kcp=kcp, release=_release()
    )
    files.write_atomically(paths.ready_file, done.model_dump_json(by_alias=True) + "\n")


def read(paths: StatePaths) -> Completion | None:
    """Return what was set up with the supervisor that runs now, or ``None``."""
    current = status.read_living(paths)
    text = files.read_text(paths.ready_file)
    if current is None or text is None:
        return None
    try:
        done = Completion.model_validate_json(text)
    except ValidationError:
        return None  # Another release wrote it; setting up again harms nothing.
    return done if done.supervisor == current.supervisor else None


def is_complete(paths: StatePaths, *, demo: bool, platform: bool = True, kcp: bool = False) -> bool:
    """Return whether an ``up`` would find nothing to do.

    Args:
        paths: The environment.
        demo: Whether the demo is wanted.
        platform: Whether operator and ForwardAuth service are wanted.
        kcp: Whether workspaces are wanted.
    """
    done, current = read(paths), status.read_living(paths)
    if done is None or current is None:
        return False
    wanted = ((done.demo, demo), (done.platform, platform), (done.kcp, kcp))
    has_all = all(there or not asked for there, asked in wanted)
    return done.release == _release() and has_all and readiness.are_ready(current)


def _release() -> str:
    return version("private-llm")
