from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import local_holding
from privatellm_local import availability, cluster_objects, completion, overview, readiness
from privatellm_local.availability import Availability, Found
from privatellm_local.errors import StartError
from privatellm_local.overview import State, UnderWay
from privatellm_local.paths import StatePaths
from privatellm_local.processes import identity, status
from privatellm_local.processes.holding import Role
from privatellm_local.processes.status import ComponentState, ComponentStatus, SupervisorStatus
from privatellm_local.progress import SilentProgress

NOW = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
STARTED = NOW.replace(second=0)
GENERATION = "g2"

Publish = Callable[..., SupervisorStatus]


def _component(state: ComponentState, **facts: object) -> ComponentStatus:
    item = ComponentStatus(name="etcd", state=state, address="https://127.0.0.1:20003")
    return item.model_copy(update=facts)


@pytest.fixture
def publish(paths: StatePaths) -> Publish:
    """Publishes a status in the name of this process, as a supervisor does."""

    def published(*components: ComponentStatus, **facts: object) -> SupervisorStatus:
        current = SupervisorStatus(
            supervisor=identity.myself(),
            started_at=STARTED,
            generation=GENERATION,
            components=components,
        ).model_copy(update=facts)
        status.write(paths, current)
        local_holding.sign(paths.supervisor_lock, Role.SUPERVISOR)
        return current

    return published


async def _wait(paths: StatePaths) -> SupervisorStatus:
    return await readiness.wait_until_ready(paths, GENERATION, SilentProgress())


async def test_waiting_ends_when_everything_is_ready(paths: StatePaths, publish: Publish) -> None:
    """The status that says so is returned."""
    current = publish(_component(ComponentState.READY))

    assert await _wait(paths) == current


async def test_a_component_that_keeps_ending_is_reported_early(
    paths: StatePaths, publish: Publish
) -> None:
    """With its last words and where to read more, long before the deadline."""
    publish(
        _component(
            ComponentState.BACKOFF,
            restarts=readiness.HOPELESS_RESTARTS,
            message="exited with code 1: address already in use",
        )
    )

    with pytest.raises(StartError) as caught:
        await _wait(paths)

    assert "etcd does not stay up, it exited with code 1: address already in use" in str(
        caught.value
    )
    assert str(paths.log("etcd")) in str(caught.value)


async def test_an_end_whose_cause_is_not_told_yet_is_waited_for(
    paths: StatePaths, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader sees a process gone before its supervisor has written why."""
    monkeypatch.setattr(readiness, "START_SECONDS", 0.05)
    paths.log("etcd").write_text("no space left on device\n")
    gone = identity.myself().model_copy(update={"start_ticks": 1})
    publish(_component(ComponentState.STARTING, process=gone, restarts=readiness.HOPELESS_RESTARTS))

    with pytest.raises(StartError, match=r"etcd did not become ready.*no space left"):
        await _wait(paths)


async def test_a_component_that_is_slow_is_named_at_the_deadline(
    paths: StatePaths, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the last line of its log."""
    monkeypatch.setattr(readiness, "START_SECONDS", 0.05)
    paths.log("etcd").write_text("waiting for the disk\n")
    publish(_component(ComponentState.STARTING))

    with pytest.raises(StartError, match=r"etcd did not become ready.*waiting for the disk"):
        await _wait(paths)


async def test_a_supervisor_that_ended_is_noticed(paths: StatePaths) -> None:
    """Nobody waits for the dead."""
    paths.log("supervisor").write_text("MemoryError\n")

    with pytest.raises(StartError, match=r"The supervisor ended.*MemoryError"):
        await _wait(paths)


async def test_readiness_of_an_older_file_does_not_count(
    paths: StatePaths, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor must have read the file first."""
    monkeypatch.setattr(readiness, "START_SECONDS", 0.05)
    publish(_component(ComponentState.READY), generation="g1")

    with pytest.raises(StartError):
        await _wait(paths)


def test_an_environment_is_complete_with_the_supervisor_that_up_finished_with(
    paths: StatePaths, publish: Publish
) -> None:
    """The demo is part of it only when it was wanted."""
    current = publish(_component(ComponentState.READY))
    completion.record(paths, current, demo=False)

    assert completion.is_complete(paths, demo=False)
    assert not completion.is_complete(paths, demo=True)

    completion.record(paths, current, demo=False, platform=False)

    assert completion.is_complete(paths, demo=False, platform=False)
    assert not completion.is_complete(paths, demo=False)


def test_an_upgrade_makes_an_environment_incomplete(
    paths: StatePaths, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new release may bring other objects; `up` applies them."""
    completion.record(paths, publish(_component(ComponentState.READY)), demo=True)

    monkeypatch.setattr(completion, "version", lambda _: "99.0")

    assert not completion.is_complete(paths, demo=True)


def test_a_marker_of_an_earlier_supervisor_is_worth_nothing(
    paths: StatePaths, publish: Publish
) -> None:
    """After a crash everything is looked at again."""
    current = publish(_component(ComponentState.READY))
    earlier = current.supervisor.model_copy(update={"start_ticks": 1})
    completion.record(paths, current.model_copy(update={"supervisor": earlier}), demo=True)

    assert completion.read(paths) is None
    assert not completion.is_complete(paths, demo=True)


@pytest.mark.parametrize(
    ("state", "is_stopping", "is_recorded", "expected"),
    [
        (ComponentState.READY, False, True, State.READY),
        (ComponentState.READY, False, False, State.STARTING),
        (ComponentState.UNREADY, False, True, State.DEGRADED),
        (ComponentState.READY, True, True, State.STOPPING),
    ],
)
async def test_the_state_of_the_whole_follows_from_its_parts(
    paths: StatePaths,
    publish: Publish,
    state: ComponentState,
    is_stopping: bool,
    is_recorded: bool,
    expected: State,
) -> None:
    """Ready means that up has finished and every component is ready now."""
    current = publish(_component(state), stopping=is_stopping)
    if is_recorded:
        completion.record(paths, current, demo=False, platform=False)

    assert (await overview.look(paths, NOW)).state is expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (Availability("operator", wanted=1, ready=1), State.READY),
        (Availability("operator", wanted=1, ready=0), State.DEGRADED),
        (Availability("operator", wanted=0, ready=0), State.DEGRADED),
        (Availability("operator", wanted=1, ready=1, is_current=False), State.DEGRADED),
        (Availability("operator", exists=False), State.DEGRADED),
        (Availability("operator", is_known=False), State.DEGRADED),
    ],
)
async def test_an_environment_is_ready_only_with_its_platform(
    paths: StatePaths,
    publish: Publish,
    monkeypatch: pytest.MonkeyPatch,
    operator: Availability,
    expected: State,
) -> None:
    """Healthy processes around an operator that was scaled to nothing serve nobody."""

    async def found(*_: object) -> Found:
        return Found((operator,))

    monkeypatch.setattr(availability, "look", found)
    completion.record(paths, publish(_component(ComponentState.READY)), demo=False)

    seen = await overview.look(paths, NOW)

    assert seen.state is expected
    assert seen.platform == (operator,)


@pytest.mark.parametrize("platform", [True, False])
async def test_an_environment_without_a_definition_is_degraded(
    paths: StatePaths, publish: Publish, monkeypatch: pytest.MonkeyPatch, *, platform: bool
) -> None:
    """Nothing can be routed without Traefik's, whoever installs the platform."""
    wanted: list[str] = []

    async def found(_: Path, __: tuple[str, ...], definitions: Iterable[str]) -> Found:
        wanted.extend(definitions)
        return Found(missing_definitions=("middlewares.traefik.io",))

    monkeypatch.setattr(availability, "look", found)
    current = publish(_component(ComponentState.READY))
    completion.record(paths, current, demo=False, platform=platform)

    seen = await overview.look(paths, NOW)

    assert seen.state is State.DEGRADED
    assert seen.missing_definitions == ("middlewares.traefik.io",)
    assert "middlewares.traefik.io" in wanted
    assert (len(wanted) > len(cluster_objects.edge_definitions())) is platform


async def test_looking_at_a_cluster_that_does_not_answer_is_no_error(
    paths: StatePaths, publish: Publish
) -> None:
    """There is no kubeconfig even."""
    completion.record(paths, publish(_component(ComponentState.READY)), demo=False)

    seen = await overview.look(paths, NOW)

    assert seen.state is State.DEGRADED
    assert [part.is_known for part in seen.platform] == [False, False]


async def test_an_environment_that_does_not_run_is_stopped(paths: StatePaths) -> None:
    """Looking at it is no error."""
    seen = await overview.look(paths, NOW)

    assert seen.state is State.STOPPED
    assert seen.components == ()
    assert seen.plan is None
    assert seen.under_way is None


@pytest.mark.parametrize(
    ("role", "expected"), [(Role.UP, State.STARTING), (Role.DOWN, State.STOPPING)]
)
async def test_a_command_at_work_is_told_with_its_stage(
    paths: StatePaths, role: Role, expected: State
) -> None:
    """A first build takes minutes in which nothing runs yet."""
    local_holding.sign(paths.lock_file, role, stage="programs")

    seen = await overview.look(paths, NOW)

    assert seen.state is expected
    assert seen.under_way == UnderWay(role, identity.myself().pid, "programs")


async def test_a_command_that_was_killed_is_not_at_work(paths: StatePaths) -> None:
    """Its signature is still there."""
    killed = identity.myself().model_copy(update={"start_ticks": 1})
    local_holding.sign(paths.lock_file, Role.UP, killed, stage="programs")

    assert (await overview.look(paths, NOW)).state is State.STOPPED


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff\xfe", b"[]"])
async def test_a_damaged_report_hides_details_and_not_the_supervisor(
    paths: StatePaths, publish: Publish, content: bytes | None
) -> None:
    """What runs is told by the lock."""
    publish(_component(ComponentState.READY))
    if content is None:
        paths.status_file.unlink()
    else:
        paths.status_file.write_bytes(content)

    current = status.read_living(paths)
    seen = await overview.look(paths, NOW)

    assert current is not None
    assert current.supervisor == identity.myself()
    assert current.started_at <= datetime.now(UTC)
    assert not readiness.are_ready(current)
    assert seen.state is State.STARTING
    assert [part.message for part in seen.components] == ["has not said yet what it runs"]


def test_a_component_that_is_gone_is_not_ready_whatever_the_last_report_said(
    paths: StatePaths,
) -> None:
    """On a full disk etcd ends, and so do the supervisor's reports."""
    local_holding.sign(paths.supervisor_lock, Role.SUPERVISOR)
    gone = identity.myself().model_copy(update={"start_ticks": 1})
    etcd = ComponentStatus(
        name="etcd", state=ComponentState.READY, address="127.0.0.1:1", process=gone
    )
    status.write(
        paths,
        SupervisorStatus(supervisor=identity.myself(), started_at=NOW, components=(etcd,)),
    )

    current = status.read_living(paths)

    assert current is not None
    seen = current.component("etcd")
    assert seen is not None
    assert seen.state is ComponentState.BACKOFF
    assert "disk" in seen.message


async def test_every_component_shows_process_age_and_trouble(
    paths: StatePaths, publish: Publish
) -> None:
    """The supervisor itself comes first."""
    me = identity.myself()
    publish(
        _component(
            ComponentState.READY, process=me, started_at=STARTED, restarts=2, message="was ended"
        )
    )

    supervisor, etcd = (await overview.look(paths, NOW)).components

    assert (supervisor.name, supervisor.pid, supervisor.uptime_seconds) == (
        "supervisor",
        me.pid,
        30,
    )
    assert (etcd.name, etcd.pid, etcd.uptime_seconds, etcd.restarts) == ("etcd", me.pid, 30, 2)
