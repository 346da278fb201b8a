"""The store of an informer."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from privatellm.kube.kinds import SECRET
from privatellm_sync_agent.engine.store import Store, metadata_only
from privatellm_sync_agent.engine.world import Uses
from privatellm_sync_agent.naming.names import Identity


def thing(name: str, version: int = 1, *, uid: str = "u", team: str = "a") -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": uid,
        "resourceVersion": str(version),
        "labels": {"team": team},
        "annotations": {"kcp.io/cluster": "c"},
        "managedFields": [{"manager": "kubectl"}],
    }
    return {"apiVersion": "v1", "kind": "Thing", "metadata": metadata, "data": {"k": "v"}}


def by_team(manifest: dict[str, Any]) -> tuple[str]:
    return (manifest["metadata"]["labels"]["team"],)


X = Identity("c", "n", "x")


def test_an_answer_to_our_own_write_is_stored_when_it_is_newer() -> None:
    """So the next pass sees it before the watch delivers it."""
    store = Store()
    store.put(thing("x", 5))
    store.refresh(thing("x", 7, team="b"))
    store.refresh(thing("x", 6, team="c"))
    kept = store.get(X)
    assert kept is not None
    assert kept["metadata"]["labels"] == {"team": "b"}


def test_an_answer_never_brings_a_ghost_to_life() -> None:
    """The deletion event may have been faster than the answer."""
    store = Store()
    store.put(thing("x", 5))
    store.drop(thing("x", 8))
    store.refresh(thing("x", 7))
    assert store.get(X) is None
    store.put(thing("x", 9, uid="another"))
    store.refresh(thing("x", 10))
    assert store.get(X) == store.get(X)
    kept = store.get(X)
    assert kept is not None
    assert kept["metadata"]["uid"] == "another"


def test_managed_fields_are_not_kept_and_data_only_where_it_is_needed() -> None:
    """Memory is bounded, and no Secret's data lies in it."""
    whole, bare = Store(), Store(trim=metadata_only)
    for store in (whole, bare):
        store.put(thing("x"))
    kept, trimmed = whole.get(X), bare.get(X)
    assert kept is not None
    assert trimmed is not None
    assert "managedFields" not in kept["metadata"]
    assert kept["data"]
    assert "data" not in trimmed


def test_a_new_list_tells_what_vanished() -> None:
    """It is reported, not forgotten silently."""
    store = Store()
    store.put(thing("x"))
    store.put(thing("y"))
    assert [gone["metadata"]["name"] for gone in store.vanished([thing("y")])] == ["x"]


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("ab"), st.booleans())))
def test_the_index_always_agrees_with_the_objects(changes: list[tuple[str, str, bool]]) -> None:
    """Whatever came and went in whatever order."""
    store = Store(by_team)
    for version, (name, team, exists) in enumerate(changes):
        manifest = thing(name, version, team=team)
        store.put(manifest) if exists else store.drop(manifest)
    for team in "ab":
        expected = {str(Identity.of(m)) for m in store if by_team(m) == (team,)}
        assert {str(Identity.of(m)) for m in store.indexed(team)} == expected


def test_a_change_of_a_related_object_leads_to_those_who_use_it_now() -> None:
    """And no longer to those who used it once."""
    uses = Uses()
    first, second = (SECRET, Identity("", "n", "a")), (SECRET, Identity("", "n", "b"))
    uses.note(X, [first])
    uses.note(Identity("d", "n", "y"), [first])
    uses.note(X, [second])
    assert uses.users_of(first) == (Identity("d", "n", "y"),)
    assert uses.users_of(second) == (X,)
    uses.note(X, [])
    assert uses.users_of(second) == ()
