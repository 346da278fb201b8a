"""Ask the edge when keys were last used, and wake the passes that write it down.

The answer also tells since when ended keys are refused, which is measured and written nowhere, and how
often keys were used, which is shown as metrics (:mod:`privatellm_operator.observing.usage`).

Each authserver pod knows what it saw itself, so each is asked: pods are found by their label, because a
Service would lead to one of them. A poll writes nothing; the pass of the token request does, which alone
writes that status. So the time between two polls is also the least time between two writes for a key, and
a key that nobody uses causes none. A pod that does not answer is left out; what it knows is offered again
at the next polls.

The first poll comes when the lead begins, because counts are taken over from there on. Counts that arrive
when another may lead by now are not taken: that one counts them.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated

import aiohttp
import structlog
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from privatellm.kube import Manifest, kinds
from privatellm.names import verifier_name
from privatellm_operator import asking
from privatellm_operator.context import ProcessContext
from privatellm_operator.observing.usage import PodCounts, UsageTally
from privatellm_operator.world import routing

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 10.0
ENDED = ("Succeeded", "Failed")
"""Phases of pods whose address may belong to somebody else by now."""

LARGEST_ANSWER = 32 * 2**20
"""Bytes; the authserver remembers at most 200 000 keys, which make 18 MB."""

POLLS_OFFERED = 3
"""Polls at which a use is asked for, so that a pod may miss two."""


Uses = Annotated[int, Field(ge=0, le=2**53)]
"""A count that a report may hold; floats, which metrics are, count no further."""


class LastUseReport(BaseModel):
    """What one authserver pod says; one of an earlier version does not count."""

    model_config = ConfigDict(frozen=True)

    last_used: Mapping[str, AwareDatetime] = Field(alias="lastUsed")
    refused_since: Mapping[str, AwareDatetime] = Field(alias="refusedSince", default_factory=dict)
    uses: Mapping[str, Uses] = Field(default_factory=dict)
    all_uses: bool = Field(alias="allUses", default=False)
    counting_since: AwareDatetime | None = Field(alias="countingSince", default=None)

    @property
    def counts(self) -> PodCounts | None:
        """What the pod counted; ``None`` when it does not say."""
        if self.counting_since is None:
            return None
        return PodCounts(self.counting_since, self.uses, is_whole=self.all_uses)


_NOTHING = LastUseReport(lastUsed={})


class LastUsePoll:
    """Asks every authserver pod.

    Attributes:
        tally: What came of the counts.
    """

    def __init__(
        self, context: ProcessContext, is_leading: Callable[[], bool] = lambda: True
    ) -> None:
        """Ask nobody yet.

        Args:
            context: What the process owns.
            is_leading: Whether nobody else can lead by now.
        """
        self._context = context
        self._is_leading = is_leading
        self._settings = context.settings.last_use
        namespace = context.settings.tokens.token_namespace
        counts = bool(self._settings.seconds)
        self.tally = UsageTally(context.world, namespace, is_counting=counts)

    async def poll(self) -> None:
        """Ask once and enqueue the requests whose keys were used.

        Raises:
            KubernetesError: when the pods cannot be listed.
        """
        now = self._context.clock()
        since = now - timedelta(seconds=self._settings.seconds * POLLS_OFFERED)
        pods = await self._pods()
        reports = await self._ask_all([a for a, is_running in pods.items() if is_running], since)
        for address, report in reports.items():
            self._take(report.last_used, now)
            self._context.revocations.hear(address, report.refused_since)
        if self._is_leading():
            self.tally.hear({address: reports.get(address, _NOTHING).counts for address in pods})

    async def _ask_all(
        self, addresses: Sequence[str], since: datetime
    ) -> Mapping[str, LastUseReport]:
        async with asking.open_session(ANSWER_SECONDS) as session:
            questions = (
                _ask(session, address, since, all_uses=self.tally.wants_all(address))
                for address in addresses
            )
            return dict(zip(addresses, await asyncio.gather(*questions), strict=True))

    def _take(self, report: Mapping[str, datetime], now: datetime) -> None:
        for key_id in self._context.usage.merge(report, now):
            self._enqueue(key_id)

    def _enqueue(self, key_id: str) -> None:
        settings, world = self._context.settings, self._context.world
        namespace = settings.tokens.token_namespace
        verifier = world[kinds.SECRET].get(namespace, verifier_name(key_id))
        if verifier is not None:
            platform = routing.platform_key(settings.pod.namespace)
            for key in routing.keys_of(kinds.SECRET, verifier, world, platform):
                self._context.queue.add(key)

    async def _pods(self) -> Mapping[str, bool]:
        """Return the addresses of all pods that have not ended, and whether each is running."""
        pods = await self._context.client.list(
            kinds.POD, self._context.settings.pod.namespace, labels=self._settings.selector
        )
        found: dict[str, bool] = {}
        for pod in pods.items:
            address, phase = self._address(pod), (pod.get("status") or {}).get("phase")
            if address and phase not in ENDED:
                found[address] = found.get(address, False) or phase == "Running"
        return found

    def _address(self, pod: Manifest) -> str:
        ip = (pod.get("status") or {}).get("podIP", "")
        return asking.base_url(ip, self._settings.port) if ip else ""


async def _ask(
    session: aiohttp.ClientSession, address: str, since: datetime, *, all_uses: bool
) -> LastUseReport:
    params = {"since": since.isoformat(), "uses": "all" if all_uses else "recent"}
    try:
        body = await asking.ask(session, f"{address}/last-used", LARGEST_ANSWER, params=params)
        return LastUseReport.model_validate_json(body)
    except (asking.NoAnswerError, ValidationError) as error:
        # The text of a validation error repeats its input, which nobody vouches for.
        why = "not a report" if isinstance(error, ValidationError) else str(error)
        log.warning("last use unknown", authserver=address, why=why)
        return _NOTHING
