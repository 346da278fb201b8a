import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from eventually import eventually
from privatellm.errors import ExpiredError, UnavailableError
from privatellm.kube import KubeClient, Listing, Manifest, WatchEvent
from privatellm.kube.kinds import POD
from privatellm_local.node.reflector import Selection, reflect


def item(name: str, version: int) -> Manifest:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


class Script:
    """A server that answers by a script, and remembers where its watches began."""

    def __init__(self, *acts: Listing | list[WatchEvent | Exception] | Exception) -> None:
        self.acts = list(acts)
        self.watched_from: list[str] = []

    async def list(self, *_: object, **__: object) -> Listing:
        """Answer with the next act."""
        act = self.acts.pop(0)
        if isinstance(act, Exception):
            raise act
        assert isinstance(act, Listing)
        return act

    async def watch(
        self, *_: object, resource_version: str, **__: object
    ) -> AsyncIterator[WatchEvent]:
        """Play the next act, and hang when there is none."""
        self.watched_from.append(resource_version)
        if not self.acts:
            await asyncio.Event().wait()
        events = self.acts.pop(0)
        assert isinstance(events, list)
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event


class Seen:
    """Keeps the world as it is told."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def replace(self, items: tuple[Manifest, ...]) -> None:
        """Forget everything else."""
        self.names = {item["metadata"]["name"] for item in items}

    def changed(self, item: Manifest) -> None:
        """Add it."""
        self.names.add(item["metadata"]["name"])

    def deleted(self, item: Manifest) -> None:
        """Remove it."""
        self.names.remove(item["metadata"]["name"])


async def play(script: Script, done: Callable[[Seen], bool]) -> Seen:
    seen = Seen()

    async def look() -> bool:
        return done(seen)

    async with asyncio.TaskGroup() as group:
        client = cast("KubeClient", cast("Any", script))
        reflecting = group.create_task(reflect(client, Selection(POD), seen, retry_seconds=0.01))
        await eventually(look, what="the end of the script")
        reflecting.cancel()
    return seen


async def test_changes_follow_the_list_and_a_watch_goes_on_where_the_last_one_ended() -> None:
    """Bookmarks move the place, too."""
    script = Script(
        Listing((item("a", 1), item("b", 2)), "5"),
        [WatchEvent("ADDED", item("c", 6)), WatchEvent("DELETED", item("a", 7))],
        [WatchEvent("BOOKMARK", item("", 9))],
    )

    seen = await play(script, lambda _: len(script.watched_from) == 3)

    assert seen.names == {"b", "c"}
    assert script.watched_from == ["5", "7", "9"]


async def test_what_vanished_while_nobody_watched_is_gone_after_the_next_list() -> None:
    """A version that is too old, or a server that was away, leads to a new list."""
    script = Script(
        Listing((item("a", 1),), "1"),
        [ExpiredError("too old")],
        UnavailableError("away"),
        Listing((item("b", 9),), "9"),
    )

    seen = await play(script, lambda seen: seen.names == {"b"})

    assert seen.names == {"b"}
