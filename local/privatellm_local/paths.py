"""Where everything is: the layout of a state directory and of the user's cache directory.

Nothing is written outside these two.
The state directory belongs to one environment and may be deleted as a whole; the cache directory is
shared by all environments of a user.

State directory::

    state.json            version, addresses; its presence makes the directory ours
    lock                  held by the `up` or `down` at work, and names it
    pki/                  certificate authorities, certificates, keys
    kubeconfigs/          one file an identity
    config/               configuration of the components, rewritten by every `up`
    run/                  the supervisor's lock, and what it reports
    log/                  one file a component
    etcd/                 the cluster's data
    node/                 pods and volumes of the host node
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from privatellm_local import files
from privatellm_local.errors import StateError


@dataclass(frozen=True, slots=True)
class StatePaths:
    """The places inside one state directory."""

    root: Path

    @property
    def state_file(self) -> Path:
        """Version and addresses of the environment."""
        return self.root / "state.json"

    @property
    def lock_file(self) -> Path:
        """Held while the environment is being brought up or purged."""
        return self.root / "lock"

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.root / "pki"

    @property
    def kubeconfigs(self) -> Path:
        """One kubeconfig an identity."""
        return self.root / "kubeconfigs"

    @property
    def config(self) -> Path:
        """Configuration files of the components."""
        return self.root / "config"

    @property
    def run(self) -> Path:
        """What the supervisor reports about the running processes."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        """One log file a component."""
        return self.root / "log"

    @property
    def etcd_data(self) -> Path:
        """The cluster's data."""
        return self.root / "etcd"

    @property
    def node(self) -> Path:
        """Pods and volumes of the host node."""
        return self.root / "node"

    @property
    def components_file(self) -> Path:
        """What the supervisor shall run."""
        return self.config / "components.json"

    @property
    def status_file(self) -> Path:
        """What the supervisor runs."""
        return self.run / "status.json"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the one supervisor of this environment as long as it lives."""
        return self.run / "supervisor.lock"

    @property
    def ready_file(self) -> Path:
        """Which supervisor the last `up` finished with, and what it set up."""
        return self.run / "ready.json"

    @property
    def names(self) -> frozenset[str]:
        """Names of everything that we put directly into the directory."""
        return frozenset(
            path.name for path in (self.state_file, self.lock_file, *self.subdirectories)
        )

    @property
    def subdirectories(self) -> tuple[Path, ...]:
        """The directories in which everything else is."""
        return (
            self.pki,
            self.kubeconfigs,
            self.config,
            self.run,
            self.logs,
            self.etcd_data,
            self.node,
        )

    def log(self, component: str) -> Path:
        """Return the log file of a component."""
        return self.logs / f"{component}.log"

    def kubeconfig(self, identity: str) -> Path:
        """Return the kubeconfig of an identity."""
        return self.kubeconfigs / f"{identity}.kubeconfig"

    def create(self) -> None:
        """Create the directories.

        Raises:
            StateError: when one cannot be created or written.
        """
        for directory in (self.root, *self.subdirectories):
            files.make_private_directory(directory)


@dataclass(frozen=True, slots=True)
class CachePaths:
    """The places inside the user's cache directory."""

    root: Path

    @property
    def binaries(self) -> Path:
        """Built control plane programs, one directory a digest of what they were built from."""
        return self.root / "bin"

    @property
    def slots_file(self) -> Path:
        """Which address slot belongs to which state directory."""
        return self.root / "slots.json"

    @property
    def slots_lock(self) -> Path:
        """Held while a slot is chosen."""
        return self.root / "slots.lock"

    @property
    def models(self) -> Path:
        """Model files that several environments share."""
        return self.root / "models"

    def create(self) -> None:
        """Create the directories.

        Raises:
            StateError: when one cannot be created or written.
        """
        for directory in (self.root, self.binaries, self.models):
            files.make_private_directory(directory)


def default_state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the state directory that is used when none is named (XDG base directories)."""
    return _base_directory(environment, "XDG_STATE_HOME", "~/.local/state") / "private-llm"


def cache_paths(environment: Mapping[str, str] = os.environ) -> CachePaths:
    """Return the user's cache directory: ``PRIVATE_LLM_CACHE``, else by the XDG rules."""
    if chosen := environment.get("PRIVATE_LLM_CACHE"):
        return CachePaths(Path(chosen).expanduser().absolute())
    return CachePaths(_base_directory(environment, "XDG_CACHE_HOME", "~/.cache") / "private-llm")


def _base_directory(environment: Mapping[str, str], variable: str, default: str) -> Path:
    """Return one of the XDG base directories; a relative one is invalid and ignored, as their rules say."""
    named = Path(environment.get(variable, ""))
    return named if named.is_absolute() else Path(default).expanduser().absolute()


def state_paths(directory: Path | None) -> StatePaths:
    """Return the layout of ``directory``, or of the default state directory.

    Raises:
        StateError: when the path leads nowhere: links in a circle, an unknown user's home.
    """
    chosen = directory or default_state_directory()
    try:
        return StatePaths(chosen.expanduser().absolute().resolve())
    except (OSError, RuntimeError) as error:
        raise StateError(
            f"The path {chosen} cannot be followed ({error}): choose another directory with --state DIR."
        ) from error
