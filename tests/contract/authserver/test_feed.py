"""The feed against an HTTP server that fails in every way an API server can."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from auth_api_server import ApiServer, api_server
from auth_world import NAMESPACE, PLATFORM_KEY, Key, make_key
from eventually import eventually
from privatellm.kube.client import KubeClient
from privatellm_authserver import clocks
from privatellm_authserver import feed as feed_module
from privatellm_authserver.feed import RECOVERY_SECONDS, Backoff, FeedHealth, VerifierFeed
from privatellm_authserver.index import EntryReader, TokenIndex

SOON = 5.0


class Following:
    """A feed that runs, and what it fills."""

    def __init__(self, client: KubeClient, watch_seconds: int) -> None:
        self.index = TokenIndex(EntryReader(PLATFORM_KEY), max_staleness=60.0)
        self.health = FeedHealth()
        self.confirmations = 0
        self.feed = VerifierFeed(
            client,
            NAMESPACE,
            self.index,
            self.health,
            watch_seconds=watch_seconds,
            backoff=Backoff(first=0.01, limit=0.05),
            on_confirmed=self._count,
        )

    def _count(self) -> None:
        self.confirmations += 1

    def knows(self, key: Key) -> bool:
        """Say whether the key would be let in."""
        entry = self.index.find(key.key_id)
        return entry.fits(key.token.secret.encode()) and not entry.revoked

    async def until(self, key: Key, *, known: bool, within: float = SOON) -> None:
        """Wait until the index knows, or no longer knows, a key."""

        async def look() -> bool:
            return self.knows(key) is known

        await eventually(
            look, within=within, what=f"the index {'with' if known else 'without'} key"
        )

    @property
    def age(self) -> float:
        """Seconds since the index was known to be current."""
        return clocks.uptime() - self.index.confirmed_at


async def test_the_clock_of_the_api_server_is_compared_with_ours(
    server: ApiServer, tmp_path: Path
) -> None:
    """Every answer says what time it is there; both are this machine's here."""
    async with following(server, tmp_path) as world:

        async def compared() -> bool:
            return world.health.seconds_ahead is not None

        await eventually(compared, within=SOON, what="a look at the API server's clock")
        assert abs(world.health.seconds_ahead or 0.0) < 2


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with api_server() as running:
        yield running


@asynccontextmanager
async def following(
    server: ApiServer, tmp_path: Path, watch_seconds: int = 20
) -> AsyncIterator[Following]:
    """Run a feed against the server."""
    async with await KubeClient.connect(server.write_kubeconfig(tmp_path / "config")) as client:
        world = Following(client, watch_seconds)
        task = asyncio.create_task(world.feed.run())
        try:
            yield world
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_keys_appear_and_vanish_with_their_verifiers(
    server: ApiServer, tmp_path: Path
) -> None:
    """Those that were there before and those that come later."""
    old, new = make_key(), make_key("uid-2")
    await server.change("ADDED", old.secret)
    async with following(server, tmp_path) as world:
        await world.until(old, known=True)
        await server.change("ADDED", new.secret)
        await world.until(new, known=True)
        await server.change("DELETED", old.secret)
        await world.until(old, known=False)

        assert world.index.find(old.key_id).revoked
        assert (server.lists, world.health.relists, world.health.failures) == (1, 1, 0)


async def test_a_long_list_is_read_in_pages(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is trusted before the last page, and a list that expires half-way starts again."""
    monkeypatch.setattr(feed_module, "PAGE", 2)
    server.fail_pages = 1
    keys = [make_key(f"uid-{number}") for number in range(5)]
    for key in keys:
        await server.change("ADDED", key.secret)
    async with following(server, tmp_path) as world:
        await world.until(keys[-1], known=True)

        assert all(world.knows(key) for key in keys)
        assert (world.index.tokens, server.lists) == (5, 2)


async def test_a_list_confirms_no_more_than_what_was_there_when_it_was_asked_for(
    server: ApiServer, tmp_path: Path
) -> None:
    """It is read page by page, and a key that ends meanwhile may stand on a page that was read before."""
    await server.set_fault("hold")
    async with following(server, tmp_path) as world:

        async def asked() -> bool:
            return server.held_lists == 1

        await eventually(asked, within=SOON)
        held = clocks.uptime()
        # The watch after it says nothing that could confirm more.
        await server.set_fault("silent")

        async def listed() -> bool:
            return world.health.relists == 1

        await eventually(listed, within=SOON)

        assert world.confirmations == 1
        assert world.index.confirmed_at < held


async def test_a_watch_that_ends_in_its_time_confirms_and_goes_on(
    server: ApiServer, tmp_path: Path
) -> None:
    """No relist; what happens between two watches is not lost."""
    async with following(server, tmp_path, watch_seconds=1) as world:

        async def renewed() -> bool:
            return server.watches >= 3

        await eventually(renewed, within=SOON)
        key = make_key()
        await server.change("ADDED", key.secret)
        await world.until(key, known=True)

        assert (server.lists, world.health.failures) == (1, 0)
        assert world.age < 2.0


@pytest.mark.parametrize("fault", ["break", "refuse"])
async def test_a_broken_watch_resumes_where_it_stopped(
    server: ApiServer, tmp_path: Path, fault: str
) -> None:
    """Without a relist, and with everything that happened meanwhile."""
    revoked, added = make_key(), make_key("uid-2")
    await server.change("ADDED", revoked.secret)
    async with following(server, tmp_path, watch_seconds=1) as world:
        await world.until(revoked, known=True)
        await server.set_fault(fault)  # type: ignore[arg-type]

        async def failed() -> bool:
            return world.health.failures >= 2

        await eventually(failed, within=SOON)
        await server.change("DELETED", revoked.secret)
        await server.change("ADDED", added.secret)
        await server.set_fault("none")
        await world.until(revoked, known=False)
        await world.until(added, known=True)

        assert server.lists == 1


async def test_a_recovered_watch_confirms_soon(server: ApiServer, tmp_path: Path) -> None:
    """That a connection opens proves nothing, so the first watch after a failure is a short one."""
    async with following(server, tmp_path) as world:

        async def watching() -> bool:
            return server.watches == 1

        await eventually(watching, within=SOON)
        await server.set_fault("break")

        async def failed() -> bool:
            return world.health.failures >= 1

        await eventually(failed, within=SOON)
        before = world.confirmations
        await server.set_fault("none")

        async def confirmed() -> bool:
            return world.confirmations > before and not world.health.problem

        await eventually(confirmed, within=RECOVERY_SECONDS + 2)


async def test_a_watch_that_is_too_old_starts_from_a_new_list(
    server: ApiServer, tmp_path: Path
) -> None:
    """What vanished unseen is revoked, what came unseen is known."""
    gone, kept, new = make_key(), make_key(), make_key()
    await server.change("ADDED", gone.secret)
    await server.change("ADDED", kept.secret)
    async with following(server, tmp_path, watch_seconds=1) as world:
        await world.until(kept, known=True)
        await server.change("DELETED", gone.secret, told=False)
        await server.change("ADDED", new.secret, told=False)
        await server.set_fault("gone")

        async def relisted() -> bool:
            return server.lists >= 2

        await eventually(relisted, within=SOON)
        await server.set_fault("none")
        await world.until(new, known=True)

        assert world.knows(kept)
        assert world.index.find(gone.key_id).revoked


async def test_a_black_holed_watch_confirms_nothing(server: ApiServer, tmp_path: Path) -> None:
    """The index ages while the connection looks alive, and in the end the client gives up."""
    key = make_key()
    await server.change("ADDED", key.secret)
    async with following(server, tmp_path, watch_seconds=1) as world:
        await world.until(key, known=True)
        await server.set_fault("silent")

        async def aged() -> bool:
            return world.age > 3.0

        await eventually(aged, within=10.0)

        assert not world.index.is_fresh(world.index.confirmed_at + 60.1)

        async def noticed() -> bool:
            return world.health.failures >= 1

        await eventually(noticed, within=10.0)


async def test_a_watch_that_ends_at_once_is_not_asked_for_in_a_loop(
    server: ApiServer, tmp_path: Path
) -> None:
    """A server that shuts down ends watches politely, again and again."""
    async with following(server, tmp_path) as world:

        async def listed() -> bool:
            return world.health.relists == 1

        await eventually(listed, within=SOON)
        await server.set_fault("end")
        before, started = server.watches, time.monotonic()

        async def asked_again() -> bool:
            return server.watches >= before + 10

        await eventually(asked_again, within=SOON)

        # Nine waits of which all but the first three have a bound of 50 ms, and at least half of that.
        assert time.monotonic() - started > 6 * 0.025


async def test_a_watch_that_ends_at_once_without_a_word_confirms_nothing(
    server: ApiServer, tmp_path: Path
) -> None:
    """Somebody in the middle who answers every watch with nothing must not keep ended keys alive."""
    key = make_key()
    await server.change("ADDED", key.secret)
    async with following(server, tmp_path) as world:
        await world.until(key, known=True)
        await server.set_fault("end")
        # The watch that was open when this began may have had its time.
        before = server.watches

        async def asked_again(times: int) -> bool:
            return server.watches >= before + times

        await eventually(partial(asked_again, 2), within=SOON)
        confirmed_at = world.index.confirmed_at
        await server.change("DELETED", key.secret, told=False)
        await eventually(partial(asked_again, 12), within=SOON)

        assert world.index.confirmed_at == confirmed_at
        assert not world.index.is_fresh(confirmed_at + 60.1)
        assert "at once" in world.health.problem


async def test_bookmarks_confirm(server: ApiServer, tmp_path: Path) -> None:
    """And move the version from which a watch resumes."""
    async with following(server, tmp_path) as world:

        async def watching() -> bool:
            return server.watches == 1

        await eventually(watching, within=SOON)
        before = world.confirmations
        await server.bookmark()

        async def confirmed() -> bool:
            return world.confirmations > before

        await eventually(confirmed, within=SOON)

        assert world.feed._version == str(server.version)


async def test_a_secret_that_is_no_verifier_stops_nothing(
    server: ApiServer, tmp_path: Path
) -> None:
    """It is counted, and the next one is taken in."""
    bad, good = make_key(), make_key()
    bad.secret["type"] = "Opaque"
    async with following(server, tmp_path) as world:
        await server.change("ADDED", bad.secret)
        await server.change("ADDED", good.secret)
        await world.until(good, known=True)

        assert world.index.rejected == 1
        assert not world.knows(bad)


def test_back_off_doubles_up_to_a_limit_and_is_jittered() -> None:
    """Many workers that lost the same server must not come back in step."""
    backoff = Backoff(first=1.0, limit=4.0)

    waits = [backoff.next() for _ in range(5)]
    backoff.reset()

    for wait, bound in zip(waits, [1, 2, 4, 4, 4], strict=True):
        assert bound / 2 <= wait <= bound
    assert backoff.next() <= 1.0
