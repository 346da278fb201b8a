"""The supervisor's loop: make what runs equal to what the components file says, until told to stop.

It also stops when its state directory is gone: processes that no command can find any more would be
left to the user to hunt.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Mapping
from datetime import UTC, datetime

from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import logs, specification, status
from privatellm_local.processes.component import Component
from privatellm_local.processes.holding import Lock, Role, Signature
from privatellm_local.processes.identity import myself
from privatellm_local.processes.specification import ComponentSpec

log = logging.getLogger(__name__)

LOG_CHECK_SECONDS = 60.0

STATE_CHECK_SECONDS = 1.0
"""How often to look whether the state directory is still there; one ``stat`` each."""

INHERITED_VARIABLES = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
"""What components get from the user's environment; everything else may be a secret of the user's."""


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that every component gets."""
    return {name: environment[name] for name in INHERITED_VARIABLES if name in environment}


class Supervisor:
    """Owns the components of one environment.

    Args:
        paths: The environment.
        lock: The supervisor's lock, which is held already.
    """

    def __init__(self, paths: StatePaths, lock: Lock) -> None:
        self._paths = paths
        self._lock = lock
        self._components: dict[str, Component] = {}
        self._generation = ""
        self._stopping = False
        self._wake = asyncio.Event()
        self._identity = myself()
        self._started_at = datetime.now(UTC)

    async def run(self) -> None:
        """Supervise until SIGTERM, SIGINT or the end of the state directory, then stop everything."""
        self._listen_to_signals()
        self._sign()
        chores = [asyncio.create_task(chore) for chore in (self._bound_logs(), self._watch_state())]
        self._wake.set()
        while not self._stopping:
            await self._wake.wait()
            self._wake.clear()
            if not self._stopping:
                await self._reconcile()
        for chore in chores:
            chore.cancel()
        self._publish()
        for name in reversed(list(self._components)):
            await self._stop(name)
        self._publish()

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGHUP, self._wake.set)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ask_to_stop)
        # Whoever started us kept it back until now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    def _ask_to_stop(self) -> None:
        self._stopping = True
        self._wake.set()

    async def _reconcile(self) -> None:
        try:
            wanted, generation = specification.read(self._paths.components_file)
        except StateError:
            # Running components are worth more than a file that cannot be read.
            log.exception("the components file was ignored")
            return
        for name in _outdated(self._components, wanted):
            await self._stop(name)
            del self._components[name]
        for spec in wanted:
            if spec.name not in self._components:
                self._start(spec)
        self._components = {spec.name: self._components[spec.name] for spec in wanted}
        self._generation = generation
        self._publish()

    def _start(self, spec: ComponentSpec) -> None:
        component = Component(
            spec,
            log=self._paths.log(spec.name),
            environment=inherited(os.environ),
            changed=self._publish,
        )
        self._components[spec.name] = component
        component.start([self._components[name] for name in spec.after if name in self._components])

    async def _stop(self, name: str) -> None:
        log.info("stopping %s", name)
        await self._components[name].stop()

    async def _bound_logs(self) -> None:
        while True:
            await asyncio.sleep(LOG_CHECK_SECONDS)
            for name in self._components:
                try:
                    logs.rotate(self._paths.log(name))
                except OSError as error:
                    # Most likely a full disk; the next round tries again.
                    log.warning("the log of %s was not rotated: %s", name, error)

    async def _watch_state(self) -> None:
        while not self._has_lost_state():
            self._sign()
            await asyncio.sleep(STATE_CHECK_SECONDS)
        log.error("%s is gone; stopping everything", self._paths.root)
        self._ask_to_stop()

    def _has_lost_state(self) -> bool:
        # A new environment may be at the same path already; our own lock file tells.
        if self._lock.is_removed:
            return True
        try:
            self._paths.state_file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            # A directory that cannot be read for a while is not gone.
            return False
        return False

    def _sign(self) -> None:
        signature = Signature(role=Role.SUPERVISOR, process=self._identity)
        try:
            if not self._lock.bears(signature):
                self._lock.sign(signature)
        except StateError:
            log.exception("the lock could not be signed")

    def _publish(self) -> None:
        if self._lock.is_removed:
            # A file that we put into a directory that is being removed would keep it from going.
            return
        current = status.SupervisorStatus(
            supervisor=self._identity,
            started_at=self._started_at,
            generation=self._generation,
            stopping=self._stopping,
            components=tuple(component.status for component in self._components.values()),
        )
        try:
            status.write(self._paths, current)
        except StateError:
            # A full disk must not take the components down; the next change tries again.
            log.exception("the status could not be published")


def _outdated(running: Mapping[str, Component], wanted: tuple[ComponentSpec, ...]) -> list[str]:
    specs = {spec.name: spec for spec in wanted}
    stale = [name for name, component in running.items() if specs.get(name) != component.spec]
    return stale[::-1]
