"""An operator that dies between any two writes: the next one ends up in the same world.

Every life event of a key is played once for each write it takes, and the process dies before or after that
write. Then an operator that remembers nothing takes over.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from privatellm.conditions import find
from privatellm.tokens import Token
from token_crash import Crash, FragileClient, Moment
from token_objects import Tenant
from token_operator import Clock, TokenOperator

pytestmark = [pytest.mark.deep, pytest.mark.integration]


@dataclass(frozen=True, slots=True)
class Shape:
    """A world without what differs from key to key."""

    phase: str | None
    reason: str
    finalized: bool
    secret_exists: bool
    key_opens: bool | None
    old_key_opens: bool
    verifiers: int
    status_names_the_key: bool


class Stage:
    """One request on a stage: an event in its life, and what the world looks like."""

    def __init__(self, tenant: Tenant, fragile: FragileClient, name: str) -> None:
        self.tenant = tenant
        self.fragile = fragile
        self.name = name
        self.clock = Clock()
        self.old_key = ""

    async def pass_over(self) -> float | None:
        """Let an operator that was started now do one pass."""
        operator = TokenOperator(self.fragile, self.tenant.token_namespace, clock=self.clock)
        return await operator.reconcile(self.tenant.namespace, self.name)

    async def ready(self, **spec: object) -> None:
        """Have an instance of our own and a key that is ready."""
        await self.tenant.order(name=self.name)
        await self.tenant.ask(name=self.name, instanceName=self.name, **spec)
        await self.pass_over()
        self.old_key = (await self.tenant.data(f"{self.name}-token"))["OPENAI_API_KEY"]

    async def shape(self) -> Shape | None:
        """Return what the world looks like; ``None`` when the request is gone without a trace."""
        request = await self.tenant.request(self.name)
        verifiers = await self.tenant.verifiers()
        if request is None:
            assert verifiers == ()
            return None
        secret = await self.tenant.secret(f"{self.name}-token")
        key = (await self.tenant.data(f"{self.name}-token")).get("OPENAI_API_KEY")
        ready = find(request.status.conditions, "Ready")
        return Shape(
            phase=request.status.phase,
            reason=ready.reason if ready else "",
            finalized=bool(request.metadata.finalizers),
            secret_exists=secret is not None,
            key_opens=await self.tenant.opens(key) if key else None,
            old_key_opens=bool(self.old_key) and await self.tenant.opens(self.old_key),
            verifiers=len(verifiers),
            status_names_the_key=key is not None
            and request.status.key_id == Token.parse(key).key_id,
        )

    async def clear(self) -> None:
        """Remove everything of this stage."""
        if await self.tenant.request(self.name):
            await self.tenant.strip_finalizers(name=self.name)
        await self.tenant.withdraw(name=self.name)
        await self.tenant.cancel(name=self.name)
        await TokenOperator(self.tenant.client, self.tenant.token_namespace).sweeper.sweep()


async def first_key(stage: Stage) -> None:
    """A request is made."""
    await stage.tenant.order(name=stage.name)
    await stage.tenant.ask(name=stage.name, instanceName=stage.name)


async def rotation(stage: Stage) -> None:
    """A key is due."""
    await stage.ready(rotation={"every": "2h", "overlap": "1h"})
    stage.clock.ahead = timedelta(hours=2.5)


async def rotation_without_overlap(stage: Stage) -> None:
    """A key is due, and the one before it must end at once."""
    await stage.ready(rotation={"every": "2h"})
    stage.clock.ahead = timedelta(hours=2.5)


async def lost_key(stage: Stage) -> None:
    """The customer removed the key from the Secret."""
    await stage.ready()
    await stage.tenant.write({"OPENAI_API_KEY": None}, name=f"{stage.name}-token")


async def revocation(stage: Stage) -> None:
    """The customer ends the key."""
    await stage.ready()
    await stage.tenant.change({"revoked": True}, name=stage.name)


async def expiry(stage: Stage) -> None:
    """The request's time is over."""
    await stage.ready(expiresAfter="1h")
    stage.clock.ahead = timedelta(hours=1.5)


async def instance_recreated(stage: Stage) -> None:
    """The instance is another one of the same name."""
    await stage.ready()
    await stage.tenant.cancel(name=stage.name)
    await stage.tenant.order(name=stage.name)


async def deletion(stage: Stage) -> None:
    """The request is deleted."""
    await stage.ready()
    await stage.tenant.withdraw(name=stage.name)


EVENTS = (
    first_key,
    rotation,
    rotation_without_overlap,
    lost_key,
    revocation,
    expiry,
    instance_recreated,
    deletion,
)


Event = Callable[[Stage], Awaitable[None]]


async def undisturbed(stage: Stage, event: Event) -> tuple[Shape | None, int]:
    """Play an event without a crash and return the world it ends in, and how many writes it took."""
    await event(stage)
    stage.fragile.forget()
    await stage.pass_over()
    writes = len(stage.fragile.writes)
    shape = await stage.shape()
    await stage.clear()
    return shape, writes


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize("moment", Moment, ids=lambda moment: moment.name.lower())
async def test_a_crash_at_any_write_ends_in_the_same_world(
    tenant: Tenant,
    fragile: FragileClient,
    event: Event,
    moment: Moment,
) -> None:
    wanted, writes = await undisturbed(Stage(tenant, fragile, "calm"), event)
    assert writes > 0
    for write in range(writes):
        fragile.forget()
        stage = Stage(tenant, fragile, f"crash-{write}")
        await event(stage)
        fragile.die_at(write, moment)
        with pytest.raises(Crash):
            await stage.pass_over()
        fragile.forget()

        await stage.pass_over()

        assert await stage.shape() == wanted, f"after a crash {moment.name} write {write}"
        await stage.clear()
