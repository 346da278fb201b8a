"""An agent that dies at a chosen write: before it is carried out, or before its answer is seen."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from kcp_world import World
from privatellm.kube import KubeClient, Manifest
from privatellm_local.kcp.faults import Rule


@dataclass(slots=True)
class Death:
    """Counts writes on both sides and tells when the fatal one is reached.

    Attributes:
        at: Number of the fatal write, from 1.
        after: Whether that write is still carried out.
    """

    at: int
    after: bool
    count: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def strikes(self, method: str, path: str) -> bool:
        """Count a request and return whether it is the fatal one; events do not count."""
        if method == "GET" or "/events" in path or self.reached.is_set():
            return False
        self.count += 1
        if self.count == self.at:
            self.reached.set()
            return True
        return False


class MortalClient(KubeClient):
    """A client of the service cluster that never answers the fatal write."""

    death: Death

    @override
    async def request(self, method: str, path: str, **options: Any) -> Manifest:
        if self.death.reached.is_set() and method != "GET":
            await asyncio.Event().wait()  # The process is dead; the test cancels it in a moment.
        fatal = self.death.strikes(method, path)
        if not fatal or self.death.after:
            answer = await super().request(method, path, **options)
            if not fatal:
                return answer
        await asyncio.Event().wait()
        raise AssertionError("a dead process goes on")


def arm(world: World, death: Death) -> None:
    """Let the double take part: the fatal write there is never answered, nor is any after it."""

    def observe(method: str, path: str) -> None:
        if "/services/" not in path:
            return
        if death.reached.is_set() and method != "GET" and "/events" not in path:
            world.double.faults.add(Rule(0, path="/services/", method=method))
        elif death.strikes(method, path):
            world.double.faults.add(Rule(0, path="/services/", method=method, after=death.after))

    world.double.faults.observers.append(observe)


def disarm(world: World) -> None:
    """Let every request through again."""
    world.double.faults.observers.clear()
    world.double.faults.clear()
