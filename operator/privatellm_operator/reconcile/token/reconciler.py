"""One pass over one token request: look, decide, write; after a key was issued, look again.

The second look is what keeps the status honest: it is read off the world, never predicted.
"""

import structlog

from privatellm.telemetry import passes
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.events import EventRecorder
from privatellm_operator.reconcile.token.apply import PlanWriter
from privatellm_operator.reconcile.token.decide import decide
from privatellm_operator.reconcile.token.facts import TokenPolicy
from privatellm_operator.reconcile.token.gather import TokenGatherer
from privatellm_operator.reconcile.token.verifier_store import VerifierStore

log = structlog.get_logger(__name__)

MOST_LOOKS = 3
"""Looks a pass may take. Two suffice; a world that still changes then is left to a later pass."""

LATER_SECONDS = 1.0
"""When such a later pass is due."""

LONGEST_WAIT_SECONDS = 3600.0
"""A pass is due at least this soon when time matters, because clocks are set and machines sleep."""


class TokenReconciler:
    """Keeps one token request's verifiers, Secret and status as they should be."""

    def __init__(self, context: ProcessContext) -> None:
        self._clock = context.clock
        self._policy = TokenPolicy.of(context.settings)
        self._verifiers = VerifierStore(context.client, context.world, self._policy.token_namespace)
        self._gatherer = TokenGatherer(context.client, context.world, self._policy, context.usage)
        recorder = EventRecorder(context.client, context.clock, context.settings.pod.name)
        self._writer = PlanWriter(
            context.client, context.world, self._policy, self._verifiers, recorder
        )
        self._known: dict[Key, str] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Do one pass and return the seconds until time alone makes the next one necessary."""
        for _ in range(MOST_LOOKS):
            with passes.step("gather"):
                world = await self._gatherer.gather(key.namespace, key.name, self._clock())
            await self._follow_identity(key, world.request.metadata.uid if world else None)
            if world is None:
                return None
            with passes.step("decide"):
                plan = decide(world, self._policy)
            await self._writer.carry_out(plan, world)
            if not plan.looks_again:
                return _bounded(plan.requeue_after)
        log.warning("token request does not settle", object=str(key), retry_in=LATER_SECONDS)
        return LATER_SECONDS

    async def _follow_identity(self, key: Key, uid: str | None) -> None:
        """End the keys of a request that is gone, or was created anew under the same name.

        The finalizer has seen to that unless somebody stripped it. What this process does not remember
        is found by the sweep.
        """
        before = self._known.get(key)
        if before is not None and before != uid:
            await self._verifiers.remove_of_request(before)
        if uid is None:
            self._known.pop(key, None)
        else:
            self._known[key] = uid


def _bounded(seconds: float | None) -> float | None:
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
