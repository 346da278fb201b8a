"""Leadership on a real API server."""

import asyncio
import secrets
from datetime import datetime

import pytest

from eventually import eventually
from privatellm.errors import UnavailableError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.lease import Lease, LeaseLostError, LeaseSettings

pytestmark = pytest.mark.integration


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now


@pytest.fixture
def lease_name() -> str:
    """A Lease that nobody else wants."""
    return f"lease-{secrets.token_hex(4)}"


def candidate(
    client: KubeClient, namespace: str, name: str, identity: str, clock: Clock | None = None
) -> Lease:
    """Return an impatient candidate."""
    settings = LeaseSettings(
        namespace, name, identity, duration=15, renew_every=0.01, retry_every=0.01
    )
    return Lease(client, settings, clock=clock or Clock())


async def _holder(client: KubeClient, namespace: str, name: str) -> str:
    lease = await client.get(kinds.LEASE, name, namespace)
    assert lease is not None
    return str(lease["spec"]["holderIdentity"])


async def test_only_one_of_many_leads(client: KubeClient, system: str, lease_name: str) -> None:
    """Of simultaneous takers all but one lose."""
    candidates = [candidate(client, system, lease_name, f"c{number}") for number in range(5)]
    won = await asyncio.gather(*(each._try() for each in candidates))
    assert sum(won) == 1


async def test_a_released_lease_is_taken_at_once(
    client: KubeClient, system: str, lease_name: str
) -> None:
    """A graceful stop costs the platform no pause."""
    first = candidate(client, system, lease_name, "first")
    second = candidate(client, system, lease_name, "second")
    await first.acquire()
    waiting = asyncio.create_task(second.acquire())

    await first.release()
    async with asyncio.timeout(20):
        await waiting

    assert await _holder(client, system, lease_name) == "second"
    await first.release()
    assert await _holder(client, system, lease_name) == "second"


async def test_a_lease_that_is_not_renewed_is_taken_after_its_duration(
    client: KubeClient, system: str, lease_name: str
) -> None:
    """Measured by the waiter's own clock, from when it saw the last change."""
    await candidate(client, system, lease_name, "dead").acquire()
    clock = Clock()
    heir = candidate(client, system, lease_name, "heir", clock)

    assert not await heir._try()
    clock.now = 14
    assert not await heir._try()
    clock.now = 16
    assert await heir._try()


async def test_a_renewed_lease_is_never_taken(
    client: KubeClient, system: str, lease_name: str
) -> None:
    """Each renewal starts the waiter's time anew."""
    holder = candidate(client, system, lease_name, "holder")
    await holder.acquire()
    clock = Clock()
    waiter = candidate(client, system, lease_name, "waiter", clock)
    for _ in range(3):
        assert not await waiter._try()
        clock.now += 14
        await holder._try()


async def test_who_takes_over_knows_when_the_leader_before_led_last(
    client: KubeClient, system: str, lease_name: str
) -> None:
    """From there on it counts what nobody has counted; its own renewals change nothing of that."""
    first = candidate(client, system, lease_name, "first")
    await first.acquire()
    assert first.led_before is None
    await first._try()
    lease = await client.get(kinds.LEASE, lease_name, system)
    assert lease is not None
    clock = Clock()
    heir = candidate(client, system, lease_name, "heir", clock)
    await heir._try()
    clock.now = 16

    assert await heir._try()
    assert await heir._try()

    assert heir.led_before == datetime.fromisoformat(lease["spec"]["renewTime"])
    assert first.led_before is None


async def test_a_conflict_with_a_late_write_of_its_own_does_not_end_a_holder(
    client: KubeClient, system: str, lease_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renewal that was given up may arrive between the look and the write of the next one."""
    holder = candidate(client, system, lease_name, "holder")
    await holder.acquire()
    write, late, wrote = holder._write, [True], asyncio.Event()

    async def late_and_then(lease: Manifest | None, *, holder: str) -> None:
        if late:
            late.clear()
            await write(lease, holder=holder)
        await write(lease, holder=holder)
        wrote.set()

    monkeypatch.setattr(holder, "_write", late_and_then)
    holding = asyncio.create_task(holder.hold())
    async with asyncio.timeout(20):
        await asyncio.wait(
            {holding, asyncio.create_task(wrote.wait())}, return_when="FIRST_COMPLETED"
        )

    assert not holding.done()
    holding.cancel()


async def test_a_holder_waits_for_no_answer_longer_than_its_lease_lasts(
    client: KubeClient, system: str, lease_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that hangs keeps nobody believing that it still leads."""
    settings = LeaseSettings(system, lease_name, "holder", 1.0, renew_every=0.1, retry_every=0.1)
    holder, notes = Lease(client, settings), asyncio.Queue[bool]()
    await holder.acquire()

    async def hang() -> None:
        await asyncio.Event().wait()

    with monkeypatch.context() as patched:
        patched.setattr(holder, "_read", hang)
        holding = asyncio.create_task(holder.hold(notes.put_nowait))
        async with asyncio.timeout(20):
            assert await notes.get() is False
    async with asyncio.timeout(20):
        assert await notes.get() is True
    holding.cancel()


async def test_a_holder_that_lost_its_lease_ends(
    client: KubeClient, system: str, lease_name: str
) -> None:
    """It must not write beside the new leader."""
    holder = candidate(client, system, lease_name, "holder")
    await holder.acquire()
    stolen = {"spec": {"holderIdentity": "thief"}}
    await client.patch(kinds.LEASE, lease_name, system, stolen)

    with pytest.raises(LeaseLostError):
        async with asyncio.timeout(20):
            await holder.hold()
    assert not holder.is_certain()


async def test_a_holder_without_an_api_server_pauses_and_goes_on(
    client: KubeClient, system: str, lease_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can have taken the Lease from a server that answers nobody."""
    clock, notes = Clock(), list[bool]()
    holder = candidate(client, system, lease_name, "holder", clock)
    await holder.acquire()

    async def gone(*_arguments: object, **_options: object) -> None:
        clock.now += 10
        raise UnavailableError("the API server is gone")

    async def noted(*expected: bool) -> None:
        async def seen() -> bool:
            return notes == list(expected)

        await eventually(seen, what=f"the notes {expected}")

    with monkeypatch.context() as patched:
        patched.setattr(holder, "_read", gone)
        holding = asyncio.create_task(holder.hold(notes.append))
        await noted(False)
    await noted(False, True)
    holding.cancel()
