"""Change how an environment under test is wired, and change it back: where things listen, what runs.

Everything goes through the files that the supervisor and the host node read; nothing of the product is
changed, and what is changed is back when the block ends. Each change restarts something, so a module of
tests shares one: these are context managers for fixtures, outside of any event loop.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bare_servers import free_port
from chaos_parts import HOST_NODE, Parts
from chaos_proxy import Relay
from eventually import eventually
from privatellm_local import readiness, state
from privatellm_local.addresses import AddressPlan
from privatellm_local.controlplane import apiserver
from privatellm_local.paths import StatePaths
from privatellm_local.pki import inventory
from privatellm_local.platform.facts import AUTHSERVER_IMAGE, OPERATOR_IMAGE
from privatellm_local.platform.images import FETCH_COMMAND
from privatellm_local.processes import control, specification, status
from privatellm_local.processes.specification import ComponentSpec
from privatellm_local.progress import SilentProgress

SUPPORT = Path(__file__).parent
RESTART_SECONDS = 90.0

Images = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Relayed:
    """An API server behind a relay.

    Attributes:
        relay: What all clients go through.
        direct: The administrator's kubeconfig for the way around it.
    """

    relay: Relay
    direct: Path


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock of operator and ForwardAuth service."""

    file: Path

    def set_ahead(self, seconds: float) -> None:
        """Set it ahead of the machine's clock, or behind; 0 is right."""
        self.file.write_text(str(seconds))


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk on which fetchers find room for weights."""

    file: Path

    def shrink(self, size: int) -> None:
        """Give fetchers that start from now on so many bytes and no more."""
        self.file.write_text(str(size))

    def grow(self) -> None:
        """Give them what the machine has."""
        self.file.unlink()


def plan_of(paths: StatePaths) -> AddressPlan:
    """Return the addresses of an environment."""
    remembered = state.load(paths)
    assert remembered is not None
    return remembered.addresses


@contextmanager
def relayed(parts: Parts, directory: Path) -> Iterator[Relayed]:
    """Have the API server listen elsewhere, and a relay where everybody looks for it.

    Args:
        parts: The environment.
        directory: Where the kubeconfig for the direct way goes.
    """
    paths, plan, port = parts.paths, plan_of(parts.paths), free_port()
    before, _ = specification.read(paths.components_file)
    direct = directory / "direct.kubeconfig"
    known = paths.kubeconfig(inventory.ADMIN.name).read_text()
    direct.write_text(known.replace(f":{plan.apiserver}", f":{port}"))
    _settle(paths, tuple(_moved(spec, plan.apiserver, port) for spec in before))
    try:
        with Relay(plan.apiserver, port).running() as relay:
            yield Relayed(relay, direct)
    finally:
        _settle(paths, before)


def _moved(spec: ComponentSpec, port: int, to: int) -> ComponentSpec:
    if spec.name != apiserver.NAME:
        return spec
    content = spec.model_dump_json().replace(f"={port}", f"={to}").replace(f":{port}", f":{to}")
    return ComponentSpec.model_validate_json(content)


def _settle(paths: StatePaths, components: tuple[ComponentSpec, ...]) -> None:
    generation = specification.write(paths.components_file, components)
    current = status.read_living(paths)
    assert current is not None
    control.reload(current)
    asyncio.run(readiness.wait_until_ready(paths, generation, SilentProgress()))


@contextmanager
def stepped_clock(parts: Parts, directory: Path) -> Iterator[Clock]:
    """Run operator and ForwardAuth service by a clock that can be stepped."""
    step = directory / "step"
    step.write_text("0")
    own = {"PYTHONPATH": str(SUPPORT / "chaos_clock"), "CHAOS_CLOCK": str(step)}
    prefix = ["/usr/bin/env", *(f"{name}={value}" for name, value in own.items())]

    def with_clock(image: Mapping[str, Any]) -> Mapping[str, Any]:
        is_ours = image["image"] in (OPERATOR_IMAGE, AUTHSERVER_IMAGE) and not image["command"]
        return {**image, "exec": [*prefix, *image["exec"]]} if is_ours else image

    with _images(parts, with_clock):
        yield Clock(step)


@contextmanager
def small_disk(parts: Parts, directory: Path) -> Iterator[Disk]:
    """Let fetchers find a disk that can be made small."""
    flag = directory / "disk"
    wrapper = [*_namespace(), sys.executable, str(SUPPORT / "chaos_small_disk.py"), str(flag)]

    def on_small_disk(image: Mapping[str, Any]) -> Mapping[str, Any]:
        is_fetcher = image["command"] == [FETCH_COMMAND]
        return {**image, "exec": [*wrapper, *image["exec"]]} if is_fetcher else image

    with _images(parts, on_small_disk):
        yield Disk(flag)


def can_mount() -> bool:
    """Say whether this machine lets us mount something that only we see."""
    return bool(_namespace())


def _namespace() -> list[str]:
    """Return the command that makes a mount namespace; empty where none may be made."""
    for flags in (["-m"], ["-Urm"]):
        command = ["unshare", *flags]
        probe = [*command, "mount", "-t", "tmpfs", "probe", str(SUPPORT / "chaos_clock")]
        if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
            return command
    return []


@contextmanager
def _images(parts: Parts, change: Any) -> Iterator[None]:
    """Change what stands for which image, for all containers that start from now on."""
    file = parts.paths.config / "node.json"
    before = file.read_text()
    content = json.loads(before)
    content["images"] = [change(image) for image in content["images"]]
    file.write_text(json.dumps(content))
    try:
        asyncio.run(_restart_node(parts))
        yield
    finally:
        file.write_text(before)
        asyncio.run(_restart_node(parts))


async def _restart_node(parts: Parts) -> None:
    """Start the host node again, which starts every container again."""
    gone = parts.hit(HOST_NODE)

    async def replaced() -> bool:
        current = status.read_living(parts.paths)
        node = current.component(HOST_NODE) if current else None
        return bool(
            node
            and node.process
            and node.process.pid != gone
            and node.state is status.ComponentState.READY
        )

    await eventually(replaced, within=RESTART_SECONDS, what="another host node")
