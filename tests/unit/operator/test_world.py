from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from operator_objects import UID, instance_manifest, model_manifest
from privatellm import labels
from privatellm.kube import Listing, kinds
from privatellm_operator.handlers.arrivals import Arrivals
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.world.cache import World
from privatellm_operator.world.routing import all_parents, dependants_in, keys_of, platform_key
from privatellm_operator.world.watched import belongs_to

PLATFORM = platform_key("private-llm-system")


def secret(
    version: int, *, name: str = "chat-llama-key", owner: str = "u1", **meta: Any
) -> dict[str, Any]:
    reference = {"kind": "LLMInstance", "name": "chat", "uid": owner, "controller": True}
    return {
        "metadata": {
            "name": name,
            "namespace": "acme",
            "resourceVersion": str(version),
            "ownerReferences": [reference],
        }
        | meta
    }


def test_only_news_is_news() -> None:
    """The echo of our own write and a late event change nothing."""
    store = World()[kinds.SECRET]

    assert store.put(secret(5))
    assert not store.put(secret(5))
    assert not store.put(secret(4))
    assert store.put(secret(6))


def test_a_late_answer_does_not_bring_a_deleted_object_back() -> None:
    """The deletion may overtake the answer to the write before it."""
    store = World()[kinds.SECRET]
    store.put(secret(5))
    assert store.drop(secret(7))

    assert not store.put(secret(6))
    assert store.get("acme", "chat-llama-key") is None
    assert store.put(secret(8))


def test_an_object_that_lost_our_label_can_be_looked_up_again() -> None:
    """A watch by label reports that as a deletion, in the version in which the object lives on."""
    store = World()[kinds.SECRET]
    store.put(secret(5))
    store.drop(secret(7))

    assert store.put(secret(7))


def test_a_list_replaces_what_is_older_and_spares_what_is_newer() -> None:
    """Missed deletions are noticed; what was created after the list is no deletion."""
    store = World()[kinds.SECRET]
    store.put(secret(5, name="gone"))
    store.put(secret(6, name="kept"))
    store.put(secret(20, name="newer"))

    changed = store.replace(Listing((secret(6, name="kept"), secret(8, name="missed")), "10"))

    assert {m["metadata"]["name"] for m in changed} == {"gone", "missed"}
    assert {m["metadata"]["name"] for m in store.all()} == {"kept", "missed", "newer"}


def test_a_list_of_one_namespace_says_nothing_about_others() -> None:
    """Secrets are listed namespace by namespace."""
    store = World()[kinds.SECRET]
    store.put(secret(5))

    store.replace(Listing((), "10"), "elsewhere")
    assert len(store) == 1
    store.replace(Listing((), "10"), "acme")
    assert len(store) == 0


def test_an_answer_about_one_object_is_believed_against_everything_before() -> None:
    """A list by label has buried it, yet the API server says that it lives."""
    store = World()[kinds.SECRET]
    store.put(secret(5))
    store.replace(Listing((), "10"))
    store.correct("acme", "chat-llama-key", secret(5))
    assert len(store) == 1

    store.correct("acme", "chat-llama-key", None)
    assert len(store) == 0


def test_objects_are_found_by_their_current_terms_only() -> None:
    """A changed owner moves an object in the index."""
    store = World()[kinds.SECRET]
    store.put(secret(5, owner="u1"))
    store.put(secret(6, owner="u2"))

    assert store.find("u1") == ()
    assert [m["metadata"]["name"] for m in store.find("u2")] == ["chat-llama-key"]


def test_who_lost_a_child_is_asked_as_well_as_who_has_it_now() -> None:
    """Somebody took the owner out of our Secret: its instance looks, though nothing names it now."""
    world, queue = World(), WorkQueue()
    arrivals = Arrivals(world, queue, PLATFORM)
    arrivals.note(kinds.SECRET, "ADDED", secret(5))
    assert len(queue) == 1
    waiting = WorkQueue()

    Arrivals(world, waiting, PLATFORM).note(kinds.SECRET, "MODIFIED", secret(6, ownerReferences=[]))

    assert len(waiting) == 1


def test_a_list_tells_what_an_object_was_before() -> None:
    """A list that follows a missed change must wake those who lost a child, too."""
    store = World()[kinds.SECRET]
    store.put(secret(5))

    changed = store.replace(Listing((secret(7, ownerReferences=[]),), "10"))

    assert [m["metadata"]["ownerReferences"] == [] for m in changed] == [False, True]


def test_managed_fields_are_not_kept() -> None:
    """They are the larger half of an object and no decision reads them."""
    store = World()[kinds.SECRET]
    store.put(secret(5, managedFields=[{"manager": "x"}]))

    known = store.get("acme", "chat-llama-key")
    assert known is not None
    assert "managedFields" not in known["metadata"]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 8), st.sampled_from(["a", "b"])), max_size=30)
)
def test_the_newest_version_wins_in_any_order_of_events(
    events: list[tuple[bool, int, str]],
) -> None:
    """Whatever order events arrive in, an object never goes back in time."""
    store = World()[kinds.SECRET]
    newest: dict[str, int] = {}
    for deleted, version, name in events:
        before = store.get("acme", name)
        (store.drop if deleted else store.put)(secret(version, name=name))
        after = store.get("acme", name)
        if before and after:
            assert int(after["metadata"]["resourceVersion"]) >= int(
                before["metadata"]["resourceVersion"]
            )
        newest[name] = max(newest.get(name, 0), version)
    assert all(
        int(m["metadata"]["resourceVersion"]) <= newest[m["metadata"]["name"]] for m in store.all()
    )


def _world() -> World:
    world = World()
    world.observe(kinds.LLM_INSTANCE, "ADDED", instance_manifest("chat"))
    world.observe(kinds.LLM_INSTANCE, "ADDED", instance_manifest("other", model="phi-2"))
    request = {
        "metadata": {"name": "key", "namespace": "acme", "uid": "r1", "resourceVersion": "3"},
        "spec": {"instanceName": "chat"},
    }
    world.observe(kinds.API_TOKEN_REQUEST, "ADDED", request)
    return world


CHAT = Key(kinds.LLM_INSTANCE, "acme", "chat")
OTHER = Key(kinds.LLM_INSTANCE, "acme", "other")
REQUEST = Key(kinds.API_TOKEN_REQUEST, "acme", "key")
TINYLLAMA = Key(kinds.LLM_MODEL, "", "tinyllama")


def test_a_changed_instance_asks_for_itself_its_token_requests_and_its_model() -> None:
    """A request waits for its instance to be ready; a model may be used for the first time."""
    world = _world()
    keys = set(keys_of(kinds.LLM_INSTANCE, instance_manifest(), world, PLATFORM))
    assert keys == {CHAT, REQUEST, TINYLLAMA}


def test_a_changed_instance_asks_for_claims_that_it_owns_and_models_that_want_to_go() -> None:
    """Whoever it used before may be free now."""
    world = _world()
    owner = {"kind": "LLMInstance", "name": "chat", "uid": UID}
    metadata = {"name": "weights", "namespace": "acme", "ownerReferences": [owner]}
    claim = {"metadata": metadata | {"resourceVersion": "1", "uid": "c"}}
    world.observe(kinds.PERSISTENT_VOLUME_CLAIM, "ADDED", claim)
    going = model_manifest("going")
    going["metadata"]["deletionTimestamp"] = "2026-11-30T08:00:00Z"
    world.observe(kinds.LLM_MODEL, "ADDED", going)

    keys = set(keys_of(kinds.LLM_INSTANCE, instance_manifest(), world, PLATFORM))

    weights = Key(kinds.PERSISTENT_VOLUME_CLAIM, "acme", "weights")
    assert {weights, Key(kinds.LLM_MODEL, "", "going")} <= keys
    assert set(keys_of(kinds.PERSISTENT_VOLUME_CLAIM, claim, world, PLATFORM)) == {weights, CHAT}


def test_a_changed_fetch_job_asks_for_its_model() -> None:
    """Its end brings a digest, or a reason."""
    world = _world()
    world.observe(kinds.LLM_MODEL, "ADDED", model_manifest("tinyllama"))
    job = {"metadata": {"name": "j", "namespace": "s", "labels": {labels.LLM_MODEL: "tinyllama"}}}
    assert list(keys_of(kinds.JOB, job, world, PLATFORM)) == [TINYLLAMA]


def test_a_changed_model_asks_for_the_instances_that_use_it() -> None:
    """An edited source must reach the pods, and limits the middlewares."""
    keys = set(keys_of(kinds.LLM_MODEL, model_manifest("phi-2"), _world(), PLATFORM))
    assert keys == {Key(kinds.LLM_MODEL, "", "phi-2"), PLATFORM, OTHER}


def test_a_changed_child_asks_for_its_owner() -> None:
    """Drift is repaired by the owner's pass."""
    assert list(keys_of(kinds.SECRET, secret(1), _world(), PLATFORM)) == [CHAT]


def test_a_changed_verifier_asks_for_the_request_in_its_label() -> None:
    """Verifiers have no owner, because an owner must live in the same namespace."""
    verifier = {
        "metadata": {
            "name": "v-abc",
            "namespace": "private-llm-tokens",
            "labels": {labels.REQUEST_UID: "r1"},
        }
    }
    assert list(keys_of(kinds.SECRET, verifier, _world(), PLATFORM)) == [REQUEST]


def test_a_changed_pod_asks_for_the_instance_in_its_label() -> None:
    """Pods tell why a server does not start."""
    pod = {"metadata": {"name": "p", "namespace": "acme", "labels": {labels.LLM_INSTANCE: "chat"}}}
    assert list(keys_of(kinds.POD, pod, _world(), PLATFORM)) == [CHAT, TINYLLAMA]


def test_a_changed_middleware_asks_for_the_platform() -> None:
    """All middlewares are one concern."""
    middleware = {"metadata": {"name": "x", "namespace": "private-llm-system"}}
    assert list(keys_of(kinds.MIDDLEWARE, middleware, _world(), PLATFORM)) == [PLATFORM]


def test_new_rights_in_a_namespace_ask_for_everything_there() -> None:
    """Onboarding a namespace is what its instances waited for."""
    assert set(dependants_in(_world(), "acme", PLATFORM)) == {CHAT, OTHER, REQUEST}
    assert set(dependants_in(_world(), "private-llm-system", PLATFORM)) == {
        PLATFORM,
        *all_parents(_world()),
    }


def test_a_namespace_that_begins_to_go_asks_for_everything_in_it() -> None:
    """And one that only changes its labels for nothing."""
    world = _world()
    metadata = {"name": "acme", "resourceVersion": "9", "uid": "n"}
    assert list(keys_of(kinds.NAMESPACE, {"metadata": metadata}, world, PLATFORM)) == []

    leaving = {"metadata": metadata | {"deletionTimestamp": "2026-11-30T08:00:00Z"}}
    assert set(keys_of(kinds.NAMESPACE, leaving, world, PLATFORM)) == {CHAT, OTHER, REQUEST}

    assert not world.namespace_leaves("acme")
    world.observe(kinds.NAMESPACE, "MODIFIED", leaving)
    assert world.namespace_leaves("acme")


def test_of_namespaces_that_are_not_served_nothing_is_noted() -> None:
    """Neither events nor lists bring their orders in; models and Secrets count wherever they are."""
    world, queue = World(served=["beta"]), WorkQueue()
    arrivals = Arrivals(world, queue, PLATFORM)

    for event in ("ADDED", "MODIFIED", "DELETED"):
        arrivals.note(kinds.LLM_INSTANCE, event, instance_manifest())
    listed = Listing((instance_manifest(),), "10")
    assert world[kinds.LLM_INSTANCE].replace(listed) == ()
    assert len(queue) == len(world[kinds.LLM_INSTANCE]) == 0

    arrivals.note(kinds.LLM_MODEL, "ADDED", model_manifest("phi-2"))
    assert world[kinds.SECRET].put(secret(5))
    assert len(world[kinds.LLM_MODEL]) == 1


def test_a_child_without_an_owner_is_found_by_its_label() -> None:
    """Somebody took the owner away; whoever controls it now would count more."""
    store = World()[kinds.SECRET]
    marked = {labels.INSTANCE_UID: UID, labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR}
    store.put(secret(4, ownerReferences=[], labels={labels.INSTANCE_UID: UID}))
    [forged] = store.all()
    assert not belongs_to(forged, UID)
    store.put(secret(5, ownerReferences=[], labels=marked))
    [found] = store.find(UID)
    assert belongs_to(found, UID)

    store.put(secret(6, owner="another", labels=marked))
    [found] = store.find("another")
    assert not belongs_to(found, UID)


def test_a_kind_that_is_not_defined_has_no_objects() -> None:
    """Removing Traefik's definitions removes every middleware without an event."""
    world = _world()
    world.observe(
        kinds.MIDDLEWARE,
        "ADDED",
        {"metadata": {"name": "x", "namespace": "s", "resourceVersion": "1"}},
    )
    world.note_definition(kinds.MIDDLEWARE, defined=False)

    assert not world.is_defined(kinds.MIDDLEWARE)
    assert world[kinds.MIDDLEWARE].all() == ()
