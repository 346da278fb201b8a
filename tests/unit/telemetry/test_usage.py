"""What is counted for keys and instances, and that it ends with them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from operator_objects import UID, instance_manifest
from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm_operator.observing.usage import PodCounts, UsageTally
from privatellm_operator.world.cache import World
from telemetry_parts import operator_context, samples, token_request_manifest

TOKENS = "private-llm-tokens"
EARLY, LATE = datetime(2026, 11, 30, 9, tzinfo=UTC), datetime(2026, 11, 30, 10, tzinfo=UTC)
KEY, NEXT_KEY = "abcdefghijkl", "mnopqrstuvwx"
REQUEST_UID = "uid-of-key"


def verifier(key_id: str, request: str = REQUEST_UID, instance: str = UID) -> Manifest:
    marks = {labels.REQUEST_UID: request, labels.INSTANCE_UID: instance}
    return {
        "metadata": {
            "name": f"v-{key_id}",
            "namespace": TOKENS,
            "resourceVersion": "5",
            "labels": marks,
        }
    }


def world_of(*key_ids: str) -> World:
    """Return a world with an instance, a request and its keys."""
    return operator_context(
        (kinds.LLM_INSTANCE, instance_manifest()),
        (kinds.API_TOKEN_REQUEST, token_request_manifest()),
        *((kinds.SECRET, verifier(key_id)) for key_id in key_ids),
    ).world


def begun(world: World) -> UsageTally:
    """Return the tally of a leader that found no pods at its first look."""
    tally = UsageTally(world, TOKENS)
    tally.hear({})
    return tally


def counted(count: int, key_id: str = KEY, since: datetime = EARLY) -> PodCounts:
    return PodCounts(since, {key_id: count})


def whole(count: int, key_id: str = KEY, since: datetime = EARLY) -> PodCounts:
    return PodCounts(since, {key_id: count}, is_whole=True)


def gone(world: World, kind: kinds.Kind, manifest: Manifest) -> None:
    late = manifest | {"metadata": manifest["metadata"] | {"resourceVersion": "900"}}
    world.observe(kind, "DELETED", late)


def shown(tally: UsageTally) -> dict[str, float]:
    """Return the value of each series by the name of its metric."""
    registry = CollectorRegistry()
    registry.register(tally)
    return {sample.name: sample.value for sample in samples(generate_latest(registry))}


def test_a_use_counts_for_the_request_and_for_the_instance_of_its_key() -> None:
    """The labels are names of objects; the key itself is in none."""
    tally = begun(world_of(KEY))
    registry = CollectorRegistry()
    registry.register(tally)

    tally.hear({"a": counted(3)})

    text = generate_latest(registry).decode()
    who = 'llm_instance="chat",llm_namespace="acme"'
    assert f'private_llm_key_requests_total{{{who},llm_token_request="key"}} 3.0' in text
    assert f"private_llm_instance_requests_total{{{who}}} 3.0" in text
    assert KEY not in text


def test_counts_of_all_pods_add_up_however_often_they_are_told() -> None:
    """A pod tells its whole count each time, and leaves out keys that were not used lately."""
    tally = begun(world_of(KEY))

    tally.hear({"a": counted(3), "b": counted(10)})
    tally.hear({"a": counted(5), "b": PodCounts(EARLY)})
    tally.hear({"a": counted(5), "b": counted(11)})

    assert tally.uses(REQUEST_UID) == tally.uses(UID) == 5 + 11


def test_a_pod_that_starts_again_takes_nothing_with_it() -> None:
    """Even when it has counted more than before by the time somebody asks."""
    tally = begun(world_of(KEY))

    tally.hear({"a": counted(3)})
    tally.hear({"a": counted(4, since=LATE)})
    tally.hear({})

    assert tally.uses(REQUEST_UID) == 7


def test_a_pod_that_misses_a_round_is_not_counted_twice() -> None:
    """What it said before still stands when it answers again."""
    tally = begun(world_of(KEY))

    tally.hear({"a": counted(3)})
    tally.hear({"a": None})
    tally.hear({"a": counted(4)})

    assert tally.uses(REQUEST_UID) == 4


def test_the_last_uses_of_a_key_count_although_its_verifier_is_gone() -> None:
    """A replaced or revoked key belongs to what it belonged to; its request goes on."""
    world = world_of(KEY, NEXT_KEY)
    tally = begun(world)
    tally.hear({"a": counted(3)})

    gone(world, kinds.SECRET, verifier(KEY))
    tally.hear({"a": counted(5)})
    tally.hear({"a": counted(1, NEXT_KEY)})

    assert tally.uses(REQUEST_UID) == 6


def test_nobody_answers_for_a_key_that_was_never_known() -> None:
    """Whatever a pod reports."""
    tally = begun(world_of())

    tally.hear({"a": counted(3), "b": counted(1, "../../x")})

    assert set(shown(tally).values()) == {0}


def test_the_series_of_a_request_vanish_with_it_and_its_instance_keeps_its_count() -> None:
    """And nothing is remembered of what is gone."""
    world = world_of(KEY)
    tally = begun(world)
    tally.hear({"a": counted(3)})

    gone(world, kinds.API_TOKEN_REQUEST, token_request_manifest())

    assert shown(tally) == {"private_llm_instance_requests_total": 3}
    gone(world, kinds.LLM_INSTANCE, instance_manifest())
    tally.hear({"a": counted(4)})
    assert shown(tally) == {}
    assert (tally._uses, tally._owners, tally._heard["a"].uses) == ({}, {}, {})


def test_without_questions_to_the_edge_nothing_is_shown() -> None:
    """Zeros would be a lie."""
    assert shown(UsageTally(world_of(KEY), TOKENS, is_counting=False)) == {}


def test_what_a_pod_counted_for_a_former_leader_is_not_counted_again() -> None:
    """Not at the first look, nor when a key that was idle then is used again."""
    tally = UsageTally(world_of(KEY, NEXT_KEY), TOKENS)

    tally.hear({"a": PodCounts(EARLY, {KEY: 20, NEXT_KEY: 1}, is_whole=True)})
    assert set(shown(tally).values()) == {0}
    tally.hear({"a": counted(26)})
    tally.hear({"a": counted(3, NEXT_KEY)})

    assert tally.uses(REQUEST_UID) == tally.uses(UID) == 6 + 2


def test_a_pod_that_was_silent_at_the_first_look_begins_with_its_first_answer() -> None:
    """It may have counted for a former leader all the same."""
    tally = UsageTally(world_of(KEY), TOKENS)

    tally.hear({"a": None})
    assert tally.wants_all("a")
    tally.hear({"a": whole(20)})
    assert not tally.wants_all("a")
    tally.hear({"a": counted(21)})

    assert tally.uses(REQUEST_UID) == 1


def test_an_answer_that_leaves_keys_out_begins_nothing() -> None:
    """As pods of an earlier version give: who was left out is not unused."""
    tally = UsageTally(world_of(KEY, NEXT_KEY), TOKENS)

    tally.hear({"a": counted(20)})
    tally.hear({"a": counted(9, NEXT_KEY)})
    assert tally.uses(REQUEST_UID) == 0
    tally.hear({"a": PodCounts(EARLY, {KEY: 20, NEXT_KEY: 9}, is_whole=True)})
    tally.hear({"a": counted(10, NEXT_KEY)})

    assert tally.uses(REQUEST_UID) == 1


def test_what_starts_after_the_first_look_is_counted_from_its_beginning() -> None:
    """A pod that is new, one that has the address of one that went, and one that was heard before."""
    tally = UsageTally(world_of(KEY), TOKENS)

    tally.hear({"a": whole(20), "b": whole(30), "c": None})
    tally.hear({"a": whole(5, since=LATE), "d": whole(7, since=LATE)})
    tally.hear({"c": whole(9, since=LATE)})

    assert tally.uses(REQUEST_UID) == 5 + 7 + 9


def test_a_verifier_that_is_heard_of_late_brings_nothing_back() -> None:
    """The watch may tell of it after the pod told of its first uses to somebody else."""
    world = world_of()
    tally = UsageTally(world, TOKENS)
    tally.hear({"a": whole(20)})
    tally.hear({"a": counted(21)})

    world.observe(kinds.SECRET, "ADDED", verifier(KEY))
    tally.hear({"a": counted(23)})

    assert tally.uses(REQUEST_UID) == 3


@dataclass
class Pod:
    """A pod of the check, and what one leader may count of it.

    Attributes:
        since: When it began, by its number of beginnings.
        uses: Requests by key.
        unseen: Keys used since it was last heard.
        due: Requests that the leader has not been told of and is to count once it is.
        is_new: Whether it began after the leader's first look, or was heard since.
    """

    since: int = 0
    uses: dict[str, int] = field(default_factory=lambda: dict.fromkeys((KEY, NEXT_KEY), 0))
    unseen: set[str] = field(default_factory=set)
    due: int = 0
    is_new: bool = False

    def use(self, key_id: str) -> None:
        """Let one request in."""
        self.uses[key_id] += 1
        self.unseen.add(key_id)
        self.due += 1

    def restart(self) -> None:
        """Begin to count anew; what nobody was told is lost."""
        self.since += 1
        self.uses, self.unseen, self.due = dict.fromkeys(self.uses, 0), set(), 0

    def answer(self, *, is_whole: bool) -> PodCounts:
        """Tell the counts of all keys, or of those that were used since somebody asked."""
        told = self.uses if is_whole else {key: self.uses[key] for key in self.unseen}
        self.unseen = set()
        return PodCounts(EARLY + timedelta(minutes=self.since), dict(told), is_whole=is_whole)

    def heard(self) -> int:
        """Return how many requests the leader should have counted with this answer."""
        counted, self.due = (self.due if self.is_new else 0), 0
        self.is_new = True
        return counted


STEPS = st.one_of(
    st.tuples(st.just("use"), st.sampled_from("ab"), st.sampled_from((KEY, NEXT_KEY))),
    st.tuples(st.just("restart"), st.sampled_from("ab"), st.just("")),
    st.tuples(st.just("replace"), st.sampled_from("ab"), st.just("")),
    st.tuples(st.just("poll"), st.sampled_from(("", "a", "b", "ab")), st.just("")),
    st.tuples(st.just("lead"), st.just(""), st.just("")),
)
"""A request, a restart in a pod, another pod at its address, a poll that some answer, another leader."""


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=40))
def test_no_request_is_counted_by_two_leaders(history: list[tuple[str, str, str]]) -> None:
    """And none is lost that a pod counted between two answers to the same leader."""
    world = world_of(KEY, NEXT_KEY)
    pods, made, counted_before = {"a": Pod(), "b": Pod()}, 0, 0
    tally, expected, has_looked = UsageTally(world, TOKENS), 0, False
    for what, who, key_id in history:
        if what == "use":
            pods[who].use(key_id)
            made += 1
        elif what == "restart":
            pods[who].restart()
        elif what == "replace":
            if has_looked:
                tally.hear({name: None for name in pods if name != who})
            pods[who] = Pod(since=pods[who].since + 1, is_new=has_looked)
        elif what == "lead":
            counted_before += tally.uses(UID)
            tally, has_looked = UsageTally(world, TOKENS), False
            for pod in pods.values():
                pod.is_new = False
        else:
            has_looked = True
            tally.hear(
                {
                    name: pod.answer(is_whole=tally.wants_all(name)) if name in who else None
                    for name, pod in pods.items()
                }
            )
            expected += sum(pods[name].heard() for name in who)
        total = counted_before + tally.uses(UID)
        assert total == counted_before + tally.uses(REQUEST_UID) == expected
        assert total <= made
