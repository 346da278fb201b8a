"""Locks signed as a supervisor or a command signs them, for tests that have no such process."""

from pathlib import Path

from privatellm_local.processes import holding, identity
from privatellm_local.processes.holding import Role, Signature
from privatellm_local.processes.identity import ProcessIdentity


def sign(path: Path, role: Role, process: ProcessIdentity | None = None, stage: str = "") -> None:
    """Sign a lock file in the name of a process (this one by default), and let go of it again."""
    lock = holding.take(path)
    assert lock is not None
    lock.sign(Signature(role=role, process=process or identity.myself(), stage=stage))
    lock.close()
