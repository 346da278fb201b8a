"""Ownership: whose copy an object is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_sync_agent.naming.hashes import sha1
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects import ownership
from privatellm_sync_agent.objects.ownership import Owner, remote_identity

WHO = Identity("cluster-a", "team-a", "x")
OWNER = Owner("agent", WHO, "uid-1")
names = st.from_regex(r"\A[a-z]{1,3}\Z")
identities = st.builds(Identity, names, names | st.just(""), names)


def local(owner: Owner) -> dict[str, object]:
    return {"metadata": {"labels": owner.labels(), "annotations": owner.annotations()}}


def test_the_marks_are_upstreams() -> None:
    """Names are hashed in labels, because a label value ends at 63 characters."""
    assert OWNER.labels() == {
        "syncagent.kcp.io/agent-name": "agent",
        "syncagent.kcp.io/remote-object-cluster": "cluster-a",
        "syncagent.kcp.io/remote-object-name-hash": sha1("x"),
        "syncagent.kcp.io/remote-object-namespace-hash": sha1("team-a"),
    }
    assert OWNER.annotations()["syncagent.kcp.io/remote-object-uid"] == "uid-1"


@given(identities, identities, names, names)
def test_a_copy_belongs_to_one_object_of_one_workspace_and_one_agent(
    first: Identity, second: Identity, agent: str, agent2: str
) -> None:
    """No other object and no other agent ever takes it for its own."""
    copy = local(Owner(agent, first, "u"))
    assert Owner(agent2, second, "u").owns(copy) == ((agent, first) == (agent2, second))
    assert remote_identity(copy) == first


def test_a_restored_object_takes_its_copy_over() -> None:
    """A backup brings new UIDs; nobody loses a running service to that."""
    assert Owner("agent", WHO, "uid-2").owns(local(OWNER))


@pytest.mark.parametrize(
    "metadata", [{}, {"labels": None, "annotations": None}, {"labels": {"a": "b"}}]
)
def test_an_object_without_marks_is_nobodys(metadata: dict[str, object]) -> None:
    """It is never adopted."""
    assert not OWNER.owns({"metadata": metadata})
    assert remote_identity({"metadata": metadata}) is None


def test_the_mark_of_a_copy_in_a_workspace_says_nothing_about_the_provider() -> None:
    """It differs between agents, objects and rules, and is a legal label value."""
    marks = {
        OWNER.copy_mark("a"),
        OWNER.copy_mark("b"),
        Owner("agent2", WHO, "uid-1").copy_mark("a"),
        Owner("agent", WHO, "uid-2").copy_mark("a"),
    }
    assert len(marks) == 4
    assert all(len(mark) == 40 and mark.isalnum() for mark in marks)


def test_two_agents_have_two_finalizers() -> None:
    """Neither waits for, nor removes, the other's."""
    assert ownership.finalizer_of("a") != ownership.finalizer_of("b")
    assert ownership.finalizer_of("a") != ownership.LEGACY_FINALIZER
