"""What keys and instances were used for, counted at the edge and shown by the objects that they belong to.

Every pod of the ForwardAuth service counts the requests that it let in, by key id, since it started
(:mod:`privatellm_operator.last_use` asks them). Here the growth of these counts is added up by the
APITokenRequest and the LLMInstance of each key, as the labels of its verifier have them. A pod that starts
again or goes takes nothing with it, and a key that was replaced goes on counting for its request. No label
names a key, and a series ends with its object.

Each leader counts from zero what comes during its own time. What a pod had counted before is the former
leader's: the first whole answer of a pod that was there at our first look is where its counting begins for
us. Whatever starts later, a pod or the service in one that we heard before, is counted from its beginning.
No clocks are compared for that. So nothing is counted by two leaders, and what came between the last answer
to one and the first answer to the next is counted by none.

The reports come from the part that strangers talk to: they are numbers, and nothing is decided by them.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import verifier_name
from privatellm.telemetry.exposition import counter_of
from privatellm.telemetry.families import operator as families
from privatellm_operator.observing.counting import growth
from privatellm_operator.world.cache import World


@dataclass(frozen=True, slots=True)
class PodCounts:
    """What one pod of the ForwardAuth service counted.

    Attributes:
        since: When it began; counts of another beginning are not compared with these.
        uses: Requests that were let in since then, by key id.
        is_whole: Whether all keys are there; otherwise those that were not used lately are left out.
    """

    since: datetime
    uses: Mapping[str, int] = field(default_factory=dict)
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class _Heard:
    """What we know of one counting.

    Attributes:
        since: When it began.
        uses: What was last told of the keys that we know.
        earlier: What it had counted before our time. Keys without a verifier stay in it, because the watch
            may tell of a verifier after its first uses were told; one answer bounds it.
    """

    since: datetime
    uses: Mapping[str, int] = field(default_factory=dict)
    earlier: Mapping[str, int] = field(default_factory=dict)

    def before(self, key_id: str) -> int:
        """Return how much of a key's count is no news."""
        return self.uses.get(key_id, self.earlier.get(key_id, 0))

    def take(self, uses: Mapping[str, int]) -> "_Heard":
        """Return what is known after an answer."""
        return replace(self, uses={**self.uses, **uses})

    def keep(self, known: Container[str]) -> "_Heard":
        """Return what is known of these keys."""
        return replace(self, uses={k: count for k, count in self.uses.items() if k in known})


class Owners(NamedTuple):
    """The UIDs of what a key belongs to."""

    request: str
    instance: str


class UsageTally(Collector):
    """Adds up what pods report, and shows it for objects that exist."""

    def __init__(self, world: World, token_namespace: str, *, is_counting: bool = True) -> None:
        """Start at nothing.

        Args:
            world: Where verifiers, requests and instances are.
            token_namespace: Where the verifiers are.
            is_counting: Whether anybody asks the pods; without that, zeros would be a lie.
        """
        self._world = world
        self._token_namespace = token_namespace
        self._is_counting = is_counting
        self._heard: dict[str, _Heard] = {}
        self._first_look: frozenset[str] | None = None
        self._owners: dict[str, Owners] = {}
        self._uses: dict[str, int] = {}

    def hear(self, reports: Mapping[str, PodCounts | None]) -> None:
        """Take in one round of answers.

        Args:
            reports: What each pod counted, by its address; ``None`` for one that did not answer. The first
                round names every pod that may have counted for a former leader.
        """
        if self._first_look is None:
            self._first_look = frozenset(reports)
        # Another pod that gets the address of one that went is a new one.
        self._first_look &= reports.keys()
        for address, counts in reports.items():
            if counts is not None:
                self._take(address, counts)
        self._forget(reports)

    def uses(self, uid: str) -> int:
        """Return how often the keys of a request or of an instance were used."""
        return self._uses.get(uid, 0)

    def wants_all(self, address: str) -> bool:
        """Return whether a pod should tell its counts of all keys, and not only of those used lately."""
        return address not in self._heard

    def _take(self, address: str, counts: PodCounts) -> None:
        heard = self._heard.get(address)
        if heard is None and address in (self._first_look or ()):
            # A key that is left out would look unused, and count as new with its next use.
            if counts.is_whole:
                self._heard[address] = _Heard(counts.since, earlier=counts.uses)
            return
        if heard is None or heard.since != counts.since:
            heard = _Heard(counts.since)
        for key_id, count in counts.uses.items():
            for uid in self._owners_of(key_id) or ():
                self._uses[uid] = self.uses(uid) + growth(heard.before(key_id), count)
        self._heard[address] = heard.take(counts.uses)

    def _owners_of(self, key_id: str) -> Owners | None:
        """Return what a key belongs to; what was known before its verifier went is still true."""
        verifier = self._world[kinds.SECRET].get(self._token_namespace, verifier_name(key_id))
        if verifier is not None:
            marks = verifier["metadata"].get("labels") or {}
            if labels.REQUEST_UID in marks and labels.INSTANCE_UID in marks:
                found = Owners(marks[labels.REQUEST_UID], marks[labels.INSTANCE_UID])
                self._owners[key_id] = found
        return self._owners.get(key_id)

    def _forget(self, reports: Iterable[str]) -> None:
        """Keep nothing of pods that are gone, nor of keys and objects that are."""
        known = {m["metadata"]["uid"] for kind in _KINDS for m in self._world[kind].all()}
        self._uses = {uid: count for uid, count in self._uses.items() if uid in known}
        self._owners = {key_id: o for key_id, o in self._owners.items() if known.intersection(o)}
        self._heard = {
            address: heard.keep(self._owners)
            for address, heard in self._heard.items()
            if address in reports
        }

    @override
    def collect(self) -> Iterable[Metric]:
        by_key, by_instance = (
            counter_of(family) for family in (families.KEY_REQUESTS, families.INSTANCE_REQUESTS)
        )
        if self._is_counting:
            for uid, who in self._each(kinds.LLM_INSTANCE):
                by_instance.add_metric(who, self.uses(uid))
            for uid, who in self._each(kinds.API_TOKEN_REQUEST):
                by_key.add_metric(who, self.uses(uid))
        yield from (by_key, by_instance)

    def _each(self, kind: Kind) -> Iterator[tuple[str, list[str]]]:
        """Yield UID and labels of each object of a kind, also of those that were never used."""
        for manifest in self._world[kind].all():
            metadata = manifest["metadata"]
            yield metadata["uid"], [metadata["namespace"], *_names(kind, manifest)]


_KINDS = (kinds.API_TOKEN_REQUEST, kinds.LLM_INSTANCE)


def _names(kind: Kind, manifest: Manifest) -> Iterator[str]:
    """Yield the names of the instance and, for a request, of the request."""
    name = manifest["metadata"]["name"]
    if kind is kinds.API_TOKEN_REQUEST:
        yield str((manifest.get("spec") or {}).get("instanceName", ""))
    yield name
