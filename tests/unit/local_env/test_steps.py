import asyncio
import json
import shutil
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import local_holding
from privatellm.errors import PrivateLLMError
from privatellm_local import (
    cluster_objects,
    environment,
    files,
    freshness,
    host_node,
    listeners,
    locking,
    machine,
    slots,
    state,
    steps,
)
from privatellm_local.addresses import AddressPlan
from privatellm_local.build import builder
from privatellm_local.build.builder import Programs
from privatellm_local.environment import Ended
from privatellm_local.errors import AddressError, NotRunningError, StateError
from privatellm_local.locking import turn
from privatellm_local.node.config import NodeConfig
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.pki import inventory
from privatellm_local.processes import holding, identity, status
from privatellm_local.processes.holding import Role
from privatellm_local.processes.status import SupervisorStatus
from privatellm_local.progress import SilentProgress
from privatellm_local.state import EnvironmentState
from privatellm_local.steps import Context, Options

NOW = datetime(2026, 11, 30, tzinfo=UTC)
STATE = EnvironmentState(slot=1, edge_port=20_020, created_at=NOW)


def _pod(
    *, ready: bool = True, started: datetime | None = NOW, leaving: bool = False
) -> dict[str, Any]:
    running = {"running": {"startedAt": started.isoformat()}} if started else {"waiting": {}}
    return {
        "metadata": {"name": "p"} | ({"deletionTimestamp": NOW.isoformat()} if leaving else {}),
        "status": {"containerStatuses": [{"ready": ready, "state": running}]},
    }


@pytest.mark.parametrize(
    ("wanted", "is_running", "expected"),
    [(None, True, 20_020), (20_020, True, 20_020), (8080, False, 8080)],
)
def test_a_stopped_environment_can_move_its_edge(
    wanted: int | None, is_running: bool, expected: int
) -> None:
    """Nothing else of its state changes."""
    changed = steps.with_edge_port(STATE, wanted, is_running=is_running)

    assert changed == STATE.model_copy(update={"edge_port": expected})


def test_a_running_environment_keeps_its_edge() -> None:
    """The message says which port it has and how to change it."""
    with pytest.raises(AddressError, match=r"edge port 20020, not 8080.*privatellm down"):
        steps.with_edge_port(STATE, 8080, is_running=True)


def test_the_demo_is_the_last_step_when_it_is_wanted(paths: StatePaths, cache: CachePaths) -> None:
    """And there is none when it is not."""
    with_demo = steps.steps_for(Options(paths, cache))
    without = steps.steps_for(Options(paths, cache, demo=False))

    assert [step.name for step in with_demo] == [*(step.name for step in without), "demo"]


def test_without_the_platform_there_is_a_cluster_and_nothing_of_ours(
    paths: StatePaths, cache: CachePaths
) -> None:
    """A demo needs the platform, so there is none either."""
    bare = steps.steps_for(Options(paths, cache, platform=False))
    whole = steps.steps_for(Options(paths, cache))

    assert whole[: len(bare)] == bare
    assert [step.name for step in whole[len(bare) :]] == ["models", "platform", "demo"]


def test_the_host_node_understands_its_configuration(
    paths: StatePaths, cache: CachePaths, plan: AddressPlan
) -> None:
    """What we write is what the node reads."""
    file = host_node.configuration_file(paths)
    file.write_text(host_node.configuration(paths, cache, plan))

    config = NodeConfig.load(file)

    assert config.pod_cidr == plan.pod_cidr
    assert config.kubelet_port == plan.kubelet
    assert config.images
    assert config.provisioner == host_node.storage_class()["provisioner"]


def test_the_host_node_offers_the_disk_that_there_is(
    paths: StatePaths, cache: CachePaths, plan: AddressPlan
) -> None:
    """A model that the disk cannot hold stays unscheduled, and a changed disk restarts the node."""
    content = json.loads(host_node.configuration(paths, cache, plan))
    offered = content["capacity"]["ephemeral-storage"]

    assert offered == f"{shutil.disk_usage(paths.root).total // 2**20}Mi"
    assert NodeConfig.model_validate(content).capacity.ephemeral_storage == offered


def test_people_are_administrators_by_a_binding_that_can_be_taken_away() -> None:
    """Only the bootstrap user is beyond RBAC."""
    bindings = {
        item["metadata"]["name"]: item
        for item in cluster_objects.objects()
        if item["kind"] == "ClusterRoleBinding"
    }

    assert bindings[inventory.ADMINISTRATORS]["roleRef"]["name"] == "cluster-admin"
    assert bindings[host_node.ROLE]["subjects"][0]["name"] == inventory.NODE.common_name


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([_pod()], True),
        ([_pod(), _pod(ready=False, leaving=True)], True),
        ([], False),
        ([_pod(leaving=True)], False),
        ([_pod(), _pod(ready=False)], False),
        ([_pod(started=NOW - timedelta(seconds=1))], False),
        ([_pod(started=None)], False),
        ([{"metadata": {"name": "p"}, "status": {}}], False),
    ],
    ids=[
        "ready since the start",
        "a leaving pod does not count",
        "no pods",
        "only leaving pods",
        "one is not ready",
        "ready before the start",
        "not running",
        "nothing is known yet",
    ],
)
def test_only_containers_of_this_start_count_as_ready(
    pods: list[dict[str, Any]], expected: bool
) -> None:
    """After a crash the cluster remembers yesterday's readiness."""
    since = NOW + timedelta(microseconds=999_999)

    assert freshness.are_fresh(tuple(pods), since) is expected


def test_a_question_to_an_environment_that_does_not_run_says_how_to_start_one(
    paths: StatePaths,
) -> None:
    """Both for a directory without state and for one that was stopped."""
    with pytest.raises(NotRunningError, match="privatellm up"):
        environment.require_running(paths)

    state.save(paths, STATE)
    with pytest.raises(NotRunningError, match="privatellm up"):
        environment.require_running(paths)


async def test_stopping_what_does_not_exist_is_no_error(tmp_path: Path, cache: CachePaths) -> None:
    """And it makes no directory."""
    paths = StatePaths(tmp_path / "absent")

    ended = await environment.down(paths, cache, SilentProgress(), purge=True)

    assert ended == Ended(was_running=False, was_removed=False)
    assert not paths.root.exists()


@pytest.mark.parametrize("content", [None, ""], ids=["an empty directory", "a file called lock"])
async def test_purging_removes_no_directory_that_was_never_ours(
    tmp_path: Path, cache: CachePaths, content: str | None
) -> None:
    """A name proves nothing."""
    paths = StatePaths(tmp_path / "somebodys")
    paths.root.mkdir()
    if content is not None:
        paths.lock_file.write_text(content)

    ended = await environment.down(paths, cache, SilentProgress(), purge=True)

    assert ended == Ended(was_running=False, was_removed=False)
    assert paths.root.exists()
    assert paths.lock_file.exists() is (content is not None)


async def test_purging_removes_only_environments(tmp_path: Path, cache: CachePaths) -> None:
    """Other people's files are refused before anything is touched."""
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(StateError):
        await environment.down(StatePaths(tmp_path), cache, SilentProgress(), purge=True)

    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize("content", ['{"version": 0}', "{"], ids=["older release", "damaged"])
async def test_purging_works_on_what_up_refuses(
    paths: StatePaths, cache: CachePaths, content: str
) -> None:
    """The message of `up` promises it."""
    paths.state_file.write_text(content)
    local_holding.sign(paths.lock_file, Role.UP)

    await environment.down(paths, cache, SilentProgress(), purge=True)

    assert not paths.root.exists()


async def test_purging_removes_nothing_when_something_in_it_is_not_ours(
    paths: StatePaths, cache: CachePaths
) -> None:
    """Another environment's directory, say; the refusal comes before the first file goes."""
    state.save(paths, STATE)
    (paths.root / "inner").mkdir()
    before = set(paths.root.rglob("*"))

    with pytest.raises(StateError, match=r"not ours \(inner, \.\.\.\).*down --purge"):
        await environment.down(paths, cache, SilentProgress(), purge=True)

    assert set(paths.root.rglob("*")) == before


@pytest.mark.parametrize("refusal", ["disk", "port", "cache"])
async def test_a_first_up_that_is_refused_leaves_no_directory(
    tmp_path: Path, cache: CachePaths, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    """Neither its own nor those above it; what was there before stays."""
    paths = StatePaths(tmp_path / "new" / "deep" / "state")
    _refuse(monkeypatch, refusal)

    with pytest.raises(PrivateLLMError, match="refused"):
        await environment.up(Options(paths, cache), SilentProgress())

    assert not (tmp_path / "new").exists()
    assert cache.root.exists()


async def test_a_refused_up_empties_a_directory_that_was_empty(
    tmp_path: Path, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory itself is the user's."""
    _refuse(monkeypatch, "port")

    with pytest.raises(PrivateLLMError, match="refused"):
        await environment.up(Options(StatePaths(tmp_path / "state"), cache), SilentProgress())
    (tmp_path / "state").mkdir()
    with pytest.raises(PrivateLLMError, match="refused"):
        await environment.up(Options(StatePaths(tmp_path / "state"), cache), SilentProgress())

    assert list((tmp_path / "state").iterdir()) == []


async def test_an_up_that_is_refused_later_keeps_the_environment(
    paths: StatePaths, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its data is worth more than any refusal."""
    state.save(paths, STATE)
    (paths.etcd_data / "data").touch()
    _refuse(monkeypatch, "port")

    with pytest.raises(PrivateLLMError, match="refused"):
        await environment.up(Options(paths, cache), SilentProgress())

    assert (paths.etcd_data / "data").exists()
    assert state.load(paths) == STATE


@pytest.mark.parametrize("runs", [True, False])
async def test_the_original_of_a_copy_is_named_where_it_holds_the_ports(
    tmp_path: Path,
    paths: StatePaths,
    cache: CachePaths,
    monkeypatch: pytest.MonkeyPatch,
    runs: bool,
) -> None:
    """Nobody should look for a strange program; of a stopped original the stranger is one."""
    state.save(paths, STATE)
    monkeypatch.setattr(slots, "choose", lambda *_: STATE.slot)
    slots.claim(cache, paths, lambda _: None, with_edge=False)
    copy = StatePaths(shutil.copytree(paths.root, tmp_path / "copy"))
    supervisor = SupervisorStatus(supervisor=identity.myself(), started_at=datetime.now(UTC))
    living = {paths: supervisor} if runs else {}
    monkeypatch.setattr(status, "read_living", living.get)

    def taken(_: object) -> None:
        raise AddressError("Port 1 for the edge is taken by traefik (process 2): end that program.")

    monkeypatch.setattr(listeners, "require_free", taken)
    words = f"down --state {paths.root}" if runs else "taken by traefik"
    with pytest.raises(AddressError, match=words):
        await steps.choose_addresses(Context(Options(copy, cache), SilentProgress()))


def _refuse(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    def refused(*_: object) -> None:
        raise StateError("refused")

    place, name = {
        "disk": (machine, "require_disk"),
        "port": (listeners, "require_free"),
        "cache": (CachePaths, "create"),
    }[what]
    for check in ("require_openmp", "require_memory", "require_disk"):
        monkeypatch.setattr(machine, check, lambda *_: None)
    monkeypatch.setattr(place, name, refused)


async def test_programs_are_told_by_the_directory_that_holds_them_all(
    tmp_path: Path, paths: StatePaths, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that we built have a directory each."""
    built = Programs(*(tmp_path / "bin" / digest / "program" for digest in "abcd"))

    async def found(*_: object) -> Programs:
        return built

    monkeypatch.setattr(builder, "ensure_programs", found)

    said = await steps.provide_programs(Context(Options(paths, cache), SilentProgress()))

    assert said == str(tmp_path / "bin")


HOLDER = """
import asyncio, sys
from pathlib import Path
from privatellm_local.locking import turn
from privatellm_local.paths import StatePaths
from privatellm_local.processes.holding import Role
from privatellm_local.progress import SilentProgress

async def hold():
    async with turn(StatePaths(Path(sys.argv[1])), SilentProgress(), Role.UP):
        print("held", flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


SLOW_SIGNER = """
import sys, time
from pathlib import Path
from privatellm_local.processes import holding, identity
from privatellm_local.processes.holding import Role, Signature

lock = holding.take(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(0.5)
lock.sign(Signature(role=Role.UP, process=identity.myself()))
time.sleep(600)
"""


async def test_down_ends_an_up_that_is_under_way(paths: StatePaths) -> None:
    """A person who says stop does not wait for a start to finish."""
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(paths.root), stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"

    async with asyncio.timeout(10), turn(paths, SilentProgress(), Role.DOWN) as ours:
        assert ours.has_interrupted

    assert await holder.wait() == -signal.SIGTERM


async def test_a_second_up_waits_for_the_first(paths: StatePaths) -> None:
    """It gets its turn when the lock is free."""
    with files.exclusive_lock(paths.lock_file):
        waiting = asyncio.create_task(_take_turn(paths))
        done, _ = await asyncio.wait({waiting}, timeout=0.1)
        assert not done

    async with asyncio.timeout(5):
        await waiting


async def test_who_waits_outlives_a_first_up_that_is_refused(
    tmp_path: Path, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes its directory along; the next up makes it again, and down finds nothing to do."""
    paths = StatePaths(tmp_path / "state")
    paths.create()
    monkeypatch.setattr(locking, "POLL_SECONDS", 0.01)
    state.save(paths, STATE)
    with files.exclusive_lock(paths.lock_file):
        down = asyncio.create_task(environment.down(paths, cache, SilentProgress(), purge=False))
        assert not (await asyncio.wait({down}, timeout=0.05))[0]
        shutil.rmtree(paths.root)
        assert await down == Ended(was_running=False, was_removed=False)

    paths.create()
    with files.exclusive_lock(paths.lock_file):
        up = asyncio.create_task(_take_turn(paths))
        assert not (await asyncio.wait({up}, timeout=0.05))[0]
        shutil.rmtree(paths.root)
        await up


async def _take_turn(paths: StatePaths) -> None:
    async with turn(paths, SilentProgress(), Role.UP):
        signature = holding.living(paths.lock_file)
        assert signature is not None
        assert (signature.role, signature.process) == (Role.UP, identity.myself())
    assert holding.living(paths.lock_file) is None


async def test_down_asks_again_when_the_holder_had_not_signed_yet(paths: StatePaths) -> None:
    """A signature of an earlier, dead holder must not use up the one signal."""
    dead = identity.myself().model_copy(update={"start_ticks": 1})
    local_holding.sign(paths.lock_file, Role.UP, dead)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SLOW_SIGNER, str(paths.lock_file), stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"

    async with asyncio.timeout(10), turn(paths, SilentProgress(), Role.DOWN):
        pass

    assert await holder.wait() == -signal.SIGTERM


def test_a_complete_environment_is_repaired_in_the_cluster_only(
    paths: StatePaths, cache: CachePaths
) -> None:
    """Whoever has a kubeconfig may have deleted what `up` had set up, or the demo."""
    repaired = steps.steps_for(Options(paths, cache), is_complete=True)
    quick = steps.steps_for(Options(paths, cache, demo=False), is_complete=True)
    bare = steps.steps_for(Options(paths, cache, platform=False), is_complete=True)

    assert [step.name for step in repaired] == [
        "addresses",
        "cluster objects",
        "edge",
        "models",
        "platform",
        "routes",
        "demo",
    ]
    assert repaired[: len(bare)] == bare
    assert (*quick, *steps.DEMO_STEPS) == repaired


async def test_the_state_is_written_before_anything_else_of_a_new_environment(
    tmp_path: Path, cache: CachePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails after it leaves a directory that is known to be ours."""
    paths = StatePaths(tmp_path / "new")
    files.make_private_directory(paths.root)

    def full_disk(_: StatePaths) -> None:
        raise StateError("No space is left.")

    monkeypatch.setattr(StatePaths, "create", full_disk)
    with pytest.raises(StateError):
        await steps.choose_addresses(Context(Options(paths, cache), SilentProgress()))

    assert state.load(paths) is not None
    state.require_usable(paths)
