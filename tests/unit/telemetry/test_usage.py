"""What is counted for keys and instances, and that it ends with them."""

from datetime import UTC, datetime

from hypothesis import given
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


def counted(count: int, key_id: str = KEY, since: datetime = EARLY) -> PodCounts:
    return PodCounts(since, {key_id: count})


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
    tally = UsageTally(world_of(KEY), TOKENS)
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
    tally = UsageTally(world_of(KEY), TOKENS)

    tally.hear({"a": counted(3), "b": counted(10)})
    tally.hear({"a": counted(5), "b": PodCounts(EARLY)})
    tally.hear({"a": counted(5), "b": counted(11)})

    assert tally.uses(REQUEST_UID) == tally.uses(UID) == 5 + 11


def test_a_pod_that_starts_again_takes_nothing_with_it() -> None:
    """Even when it has counted more than before by the time somebody asks."""
    tally = UsageTally(world_of(KEY), TOKENS)

    tally.hear({"a": counted(3)})
    tally.hear({"a": counted(4, since=LATE)})
    tally.hear({})

    assert tally.uses(REQUEST_UID) == 7


def test_a_pod_that_misses_a_round_is_not_counted_twice() -> None:
    """What it said before still stands when it answers again."""
    tally = UsageTally(world_of(KEY), TOKENS)

    tally.hear({"a": counted(3)})
    tally.hear({"a": None})
    tally.hear({"a": counted(4)})

    assert tally.uses(REQUEST_UID) == 4


def test_the_last_uses_of_a_key_count_although_its_verifier_is_gone() -> None:
    """A replaced or revoked key belongs to what it belonged to; its request goes on."""
    world = world_of(KEY, NEXT_KEY)
    tally = UsageTally(world, TOKENS)
    tally.hear({"a": counted(3)})

    gone(world, kinds.SECRET, verifier(KEY))
    tally.hear({"a": counted(5)})
    tally.hear({"a": counted(1, NEXT_KEY)})

    assert tally.uses(REQUEST_UID) == 6


def test_nobody_answers_for_a_key_that_was_never_known() -> None:
    """Whatever a pod reports."""
    tally = UsageTally(world_of(), TOKENS)

    tally.hear({"a": counted(3), "b": counted(1, "../../x")})

    assert set(shown(tally).values()) == {0}


def test_the_series_of_a_request_vanish_with_it_and_its_instance_keeps_its_count() -> None:
    """And nothing is remembered of what is gone."""
    world = world_of(KEY)
    tally = UsageTally(world, TOKENS)
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


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=30))
def test_every_use_that_was_told_is_counted_once(history: list[tuple[str, int, bool]]) -> None:
    """Over pods, restarts and repeated answers, and never backwards."""
    tally = UsageTally(world_of(KEY), TOKENS)
    counts, starts, total = {"a": 0, "b": 0}, {"a": 0, "b": 0}, 0
    for pod, uses, restarted in history:
        if restarted:
            counts[pod], starts[pod] = 0, starts[pod] + 1
        counts[pod] += uses
        total += uses
        tally.hear(
            {
                name: counted(count, since=EARLY.replace(minute=starts[name]))
                for name, count in counts.items()
            }
        )
        assert tally.uses(UID) == total
