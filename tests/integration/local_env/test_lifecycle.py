"""An environment's life on the real parts: side by side, crashed, interrupted, stopped."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

import embedded
from eventually import eventually

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(300)]

READY_LINE = "Ctrl-C stops everything."


@dataclass(frozen=True, slots=True)
class Pair:
    """Two environments that run at the same time."""

    one: embedded.Environment
    other: embedded.Environment


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two environments without the demo."""
    one, other = (tmp_path_factory.mktemp(name) for name in ("one", "other"))
    with _started(one) as first, _started(other) as second:
        yield Pair(first, second)


@contextmanager
def _started(state: Path) -> Iterator[embedded.Environment]:
    environment = embedded.start(state, "--no-demo")
    try:
        yield environment
    finally:
        embedded.stop(environment)


def _status(environment: embedded.Environment) -> dict[str, Any]:
    outcome = embedded.privatellm("status", "-o", "json", "--state", str(environment.state))
    document: dict[str, Any] = json.loads(outcome.stdout)
    return document


def _pids(environment: embedded.Environment) -> dict[str, int]:
    return {part["name"]: part["pid"] for part in _status(environment)["components"]}


def _processes_of(state: Path) -> list[str]:
    """Return the command lines of all processes that know the state directory."""
    marker = str(state).encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if marker in command or marker in (process / "environ").read_bytes():
                found.append(command.replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            continue  # It has ended, or belongs to somebody else.
    return found


async def _until_no_process(state: Path) -> None:
    async def none_left() -> bool:
        assert _processes_of(state) == []
        return True

    await eventually(none_left, within=15, what="the end of every process")


async def test_two_environments_run_side_by_side(pair: Pair) -> None:
    """Each has addresses, a node and an edge of its own."""
    one, other = _status(pair.one), _status(pair.other)

    for fact in ("edge", "apiServer", "serviceCIDR", "podCIDR"):
        assert one[fact] != other[fact]
    for environment in (pair.one, pair.other):
        nodes = await embedded.kubectl(environment, "get", "nodes", "--no-headers")
        assert nodes.split()[:2] == ["host", "Ready"]


def test_every_listener_is_on_loopback(pair: Pair) -> None:
    """Nothing of the environment can be reached from another machine."""
    addresses = _listening(set(_pids(pair.one).values()))

    assert addresses
    # The kernel writes addresses as little-endian hexadecimal: 127.x.y.z ends in 7F.
    assert all(re.fullmatch(r"[0-9A-F]{6}7F:[0-9A-F]{4}", address) for address in addresses)


def _listening(pids: set[int]) -> list[str]:
    descriptors = (entry for pid in pids for entry in Path(f"/proc/{pid}/fd").iterdir())
    sockets = {str(entry.readlink()) for entry in descriptors if entry.is_symlink()}
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    # Fields of proc(5): local address, state (0A is LISTEN) and inode.
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def test_a_stranger_on_the_machine_gets_no_answer(pair: Pair) -> None:
    """Without a certificate the API server refuses, and etcd and the node do not even talk."""
    document = _status(pair.one)
    parts = {part["name"]: part["address"] for part in document["components"]}
    strangers = httpx.Client(verify=False, trust_env=False)  # noqa: S501 - a stranger trusts anybody

    with strangers as stranger:
        assert stranger.get(f"{document['apiServer']}/api").status_code == 401
        for name in ("etcd", "host-node"):
            with pytest.raises(httpx.TransportError):
                stranger.get(f"{parts[name]}/healthz")


async def test_a_killed_environment_comes_back_with_its_data(pair: Pair) -> None:
    """SIGKILL of the supervisor leaves no process; the next `up` recovers."""
    state = pair.one.state
    await embedded.kubectl(pair.one, "create", "configmap", "kept", "--from-literal=a=b")
    before = _pids(pair.one)

    os.kill(before["supervisor"], signal.SIGKILL)
    await _until_no_process(state)
    embedded.start(state, "--no-demo")

    assert await embedded.kubectl(pair.one, "get", "cm", "kept", "-o", "jsonpath={.data.a}") == "b"
    after = _pids(pair.one)
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())


def test_a_taken_edge_port_is_one_clear_line(pair: Pair) -> None:
    """The port is named, nothing is started, nothing is lost."""
    state = str(pair.other.state)
    port = int(pair.other.edge_url.rpartition(":")[2])
    assert embedded.privatellm("down", "--state", state).code == 0

    with socket.create_server(("127.0.0.1", port)):
        outcome = embedded.privatellm("up", "--detach", "--no-demo", "--state", state)

    assert outcome.code == 5
    last_line = outcome.stderr.splitlines()[-1]
    assert last_line.startswith(f"error: Port {port} for the edge is taken by ")
    assert f"(process {os.getpid()})" in last_line
    assert "--edge-port N" in last_line
    assert _processes_of(pair.other.state) == []
    embedded.start(pair.other.state, "--no-demo")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_attached_environment_ends_with_its_command(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C leaves no process behind."""
    state = tmp_path / "attached"

    assert _signal_when_ready(state, number) == 0

    await _until_no_process(state)


def _signal_when_ready(state: Path, number: signal.Signals) -> int:
    program = str(Path(sys.executable).with_name("privatellm"))
    command = [program, "up", "--no-demo", "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        assert any(line.strip() == READY_LINE for line in up.stdout)
        up.send_signal(number)
        return up.wait(timeout=90)


async def test_up_brings_back_what_somebody_took_from_the_cluster(pair: Pair) -> None:
    """Healthy processes are not enough: `status` looks at the platform, and `up` mends it."""
    one, state = pair.one, str(pair.one.state)
    system = ("-n", "private-llm-system")
    await embedded.kubectl(one, *system, "scale", "deploy/private-llm-operator", "--replicas=0")
    await embedded.kubectl(one, *system, "delete", "deploy/private-llm-authserver")
    await embedded.kubectl(one, "delete", "crd", "middlewares.traefik.io")

    document = _status(one)
    assert document["state"] == "degraded"
    assert [(part["state"], part["replicas"]) for part in document["platform"]] == [
        ("unready", 0),
        ("unready", 0),
    ]
    assert document["missingDefinitions"] == ["middlewares.traefik.io"]
    assert embedded.privatellm("status", "--state", state).code == 8

    outcome = embedded.privatellm("up", "--detach", "--no-demo", "--state", state)

    assert outcome.code == 0, outcome.stderr
    assert "already running" in outcome.stdout
    document = _status(one)
    assert document["state"] == "ready"
    assert [part["readyReplicas"] for part in document["platform"]] == [1, 1]
    assert document["missingDefinitions"] == []
    await embedded.kubectl(one, "get", "crd", "middlewares.traefik.io")


def test_up_with_nothing_to_do_is_quick(pair: Pair) -> None:
    """It writes nothing that is there already; the limit leaves room for a busy machine."""
    began = time.monotonic()

    outcome = embedded.privatellm("up", "--detach", "--no-demo", "--state", str(pair.other.state))

    assert outcome.code == 0
    assert "already running" in outcome.stdout
    assert time.monotonic() - began < 10


async def test_a_damaged_report_does_not_hide_what_runs(tmp_path: Path) -> None:
    """`down` stops it all, and `--purge` removes no data from under a process."""
    state = tmp_path / "damaged"
    embedded.start(state, "--no-platform")
    (state / "run" / "status.json").write_bytes(b"\xff{")

    assert embedded.privatellm("status", "--state", str(state)).stdout.startswith("degraded")
    outcome = embedded.privatellm("down", "--purge", "--state", str(state))

    assert outcome.stdout.splitlines() == ["Stopped.", f"Removed {state}."]
    await _until_no_process(state)
    assert not state.exists()


async def test_an_environment_whose_directory_is_removed_ends(tmp_path: Path) -> None:
    """Nobody could find its processes any more."""
    state = tmp_path / "removed"
    embedded.start(state, "--no-platform")

    shutil.rmtree(state, ignore_errors=True)

    await _until_no_process(state)
    outcome = embedded.privatellm("down", "--purge", "--state", str(state))
    assert outcome.code == 0


async def test_an_up_that_is_ended_while_it_starts_leaves_no_process(tmp_path: Path) -> None:
    """Wherever the signal hits: here in the moment in which the supervisor is made."""
    state = tmp_path / "ended"

    said = _end_at_birth(state)

    assert said.splitlines()[-1] == "error: Interrupted; run it again to go on."
    await _until_no_process(state)
    assert embedded.privatellm("down", "--state", str(state)).stdout.startswith("Nothing runs")


def _end_at_birth(state: Path) -> str:
    """End an `up` as soon as there is a supervisor's lock, and return what it said."""
    lock = state / "run" / "supervisor.lock"
    with _up_of_a_cluster(state) as up:
        deadline = time.monotonic() + 60
        # Looked at without a pause, to come as close to the moment as can be.
        while not lock.exists():
            assert time.monotonic() < deadline
        up.send_signal(signal.SIGTERM)
        _, said = up.communicate(timeout=90)
    assert up.returncode == 130
    return said


def _up_of_a_cluster(state: Path) -> "subprocess.Popen[str]":
    program = str(Path(sys.executable).with_name("privatellm"))
    command = [program, "up", "--detach", "--no-platform", "--state", str(state)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_down_ends_an_up_that_is_under_way(tmp_path: Path) -> None:
    """And says that there was something to stop."""
    state = tmp_path / "under-way"
    with _up_of_a_cluster(state) as up:
        assert up.stderr is not None
        assert any(line.startswith("certificates") for line in up.stderr)
        seen = _status(embedded.Environment(state))
        outcome = embedded.privatellm("down", "--state", str(state))
        up.communicate(timeout=90)

    assert seen["state"] == "starting"
    assert seen["command"]["name"] == "up"
    assert seen["command"]["pid"] == up.pid
    assert outcome.stdout.splitlines() == ["Stopped."]
    assert up.returncode == 130
    assert _processes_of(state) == []


async def test_purging_leaves_nothing(tmp_path: Path) -> None:
    """Neither a process nor a file."""
    state = tmp_path / "purged"

    with _started(state):
        pass

    await _until_no_process(state)
    assert not state.exists()
