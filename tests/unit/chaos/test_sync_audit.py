"""The audit of both sides of the sync finds each kind of trouble, and nothing when all is well.

As with the service cluster's audit, every trouble is planted once into the same settled world.
"""

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chaos_audit import Answer, Finding, summary
from chaos_sync_audit import Sides, Trouble, audit
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects.ownership import COPY, UID, Owner

CLUSTER, BELOW = "2hxa8kz3m1p0q9wd", "2hxa8kz3m1p0q9wd-0a1b2c3d"
ENDS = "2026-11-30T08:30:00Z"
Plant = Callable[[Sides], Sides]


def changed(manifest: Manifest, *path: str, to: Any) -> Manifest:
    """Return a copy in which one field says something else."""
    key, *rest = path
    return manifest | {key: changed(manifest.get(key, {}), *rest, to=to) if rest else to}


def an_order(kind: Kind, name: str, spec: Manifest, status: Manifest) -> Manifest:
    """Return an object as the customer sees it in the workspace."""
    return {
        "kind": kind.name,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "annotations": {"kcp.io/cluster": CLUSTER},
        },
        "spec": spec,
        "status": status,
    }


def copy_of(order: Manifest, namespace: str = BELOW) -> Manifest:
    """Return the copy of an object in the service cluster, with the agent's marks."""
    metadata = order["metadata"]
    owner = Owner("private-llm", Identity.of(order), metadata["uid"])
    marks = {"labels": owner.labels(), "annotations": owner.annotations()}
    own = {"name": metadata["name"], "namespace": namespace, "uid": f"below-{metadata['uid']}"}
    return order | {"metadata": own | marks}


def a_secret(namespace: str, *keys: str, name: str = "key-token") -> Manifest:
    """Return a Secret with a value for each of these keys."""
    data = {key: base64.b64encode(key.lower().encode()).decode() for key in keys}
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def copied(secret: Manifest) -> Manifest:
    """Return a Secret with the label that copies in workspaces have."""
    return changed(secret, "metadata", "labels", to={COPY: "true"})


CHAT = an_order(kinds.LLM_INSTANCE, "chat", {"replicas": 0}, {"phase": "Stopped"})
KEY = an_order(kinds.API_TOKEN_REQUEST, "key", {"instanceName": "chat"}, {"phase": "Ready"})
PARTS = ("OPENAI_API_KEY", "OPENAI_API_URL", "OPENAI_BASE_URL")
SECRET, ORIGINAL = copied(a_secret("default", *PARTS)), a_secret(BELOW, *PARTS)
OF_CHAT, OF_KEY = ("LLMInstance", "default/chat"), ("APITokenRequest", "default/key")
LIVE = Answer("live", should_open=True, opened=True, by="the edge", said="200")
DEAD = Answer("dead", should_open=False, opened=False, by="the edge", said="401")

WELL = Sides(
    orders=(CHAT, KEY),
    copies=(copy_of(CHAT), copy_of(KEY)),
    secrets=(SECRET,),
    originals=(ORIGINAL,),
    promised={OF_CHAT: {"replicas": 0}, OF_KEY: {"instanceName": "chat"}},
    ended=frozenset({("APITokenRequest", "default/old")}),
    answers=(LIVE, DEAD),
)
GOING = ("metadata", "deletionTimestamp")


def with_chat(*path: str, to: Any) -> Plant:
    """Plant something into the instance in the workspace."""
    return lambda sides: replace(sides, orders=(changed(CHAT, *path, to=to), KEY))


def with_copies(*copies: Manifest) -> Plant:
    """Plant other copies."""
    return lambda sides: replace(sides, copies=copies)


def with_copy(*path: str, to: Any) -> Plant:
    """Plant something into the instance's copy."""
    return with_copies(changed(copy_of(CHAT), *path, to=to), copy_of(KEY))


def with_secrets(*secrets: Manifest) -> Plant:
    """Plant other Secrets in the workspace."""
    return lambda sides: replace(sides, secrets=secrets)


PLANTED: dict[str, tuple[Plant, set[Trouble]]] = {
    "an order that was acknowledged and is gone on both sides": (
        lambda sides: replace(sides, orders=(KEY,), copies=(copy_of(KEY),)),
        {Trouble.ORDER_LOST},
    ),
    "a change that was acknowledged and is gone on both sides": (
        lambda sides: replace(sides, promised={OF_CHAT: {"replicas": 0, "dnsPolicy": "Default"}}),
        {Trouble.CHANGE_LOST},
    ),
    "an order that was ended and lives": (
        lambda sides: replace(sides, promised={OF_KEY: {}}, ended=frozenset({OF_CHAT})),
        {Trouble.END_LOST},
    ),
    "an order that does not go": (with_chat(*GOING, to=ENDS), {Trouble.STUCK}),
    "a copy that does not go": (with_copy(*GOING, to=ENDS), {Trouble.STUCK}),
    "an order without a copy": (with_copies(copy_of(KEY)), {Trouble.COPY_MISSING}),
    "an order with two copies": (
        with_copies(copy_of(CHAT), copy_of(KEY), copy_of(CHAT, "elsewhere")),
        {Trouble.COPY_TWICE},
    ),
    "a spec that did not go down": (
        with_copy("spec", "replicas", to=1),
        {Trouble.COPY_DIFFERS},
    ),
    "a copy of an object that was there before": (
        with_copy("metadata", "annotations", UID, to="uid-old"),
        {Trouble.COPY_OF_ANOTHER},
    ),
    "a copy whose order is gone": (
        lambda sides: replace(sides, orders=(KEY,), promised={}),
        {Trouble.COPY_ORPHANED},
    ),
    "a copy without marks of an order": (
        with_copies(
            copy_of(CHAT), copy_of(KEY), changed(copy_of(CHAT), "metadata", "annotations", to={})
        ),
        {Trouble.COPY_ORPHANED},
    ),
    "a copy of an equal name in another workspace": (
        with_copies(
            *(copy_of(CHAT), copy_of(KEY)),
            copy_of(changed(CHAT, "metadata", "annotations", "kcp.io/cluster", to="other")),
        ),
        {Trouble.COPY_ORPHANED},
    ),
    "a status that did not go up": (
        with_copy("status", "phase", to="Ready"),
        {Trouble.STATUS_DIFFERS},
    ),
    "a status that nobody reported": (
        with_copy("status", to=None),
        {Trouble.STATUS_DIFFERS},
    ),
    "a key without its Secret": (with_secrets(), {Trouble.SECRET_MISSING}),
    "a Secret with another key": (
        lambda sides: replace(
            sides, originals=(changed(ORIGINAL, "data", "OPENAI_API_KEY", to="bm8="),)
        ),
        {Trouble.SECRET_DIFFERS},
    ),
    "a Secret without its original": (
        lambda sides: replace(sides, originals=()),
        {Trouble.SECRET_DIFFERS},
    ),
    "a Secret with more than the customer's keys": (
        with_secrets(changed(SECRET, "data", "internal", to="bm8=")),
        {Trouble.SECRET_DIFFERS},
    ),
    "a copy of a Secret whose request is gone": (
        with_secrets(SECRET, copied(a_secret("default", *PARTS, name="old-token"))),
        {Trouble.SECRET_ORPHANED},
    ),
    "a live key that is refused": (
        lambda sides: replace(sides, answers=(replace(LIVE, opened=False, said="401"), DEAD)),
        {Trouble.LIVE_REFUSED},
    ),
    "a dead key that is let in": (
        lambda sides: replace(sides, answers=(LIVE, replace(DEAD, opened=True, said="200"))),
        {Trouble.DEAD_ALLOWED},
    ),
}


def test_two_sides_that_agree_have_no_finding() -> None:
    """Everything is as it was promised."""
    assert audit(WELL) == ()


@pytest.mark.parametrize("planted", PLANTED)
def test_each_planted_trouble_between_the_sides_is_found(planted: str) -> None:
    """And no other one, so that a finding says what is wrong."""
    plant, expected = PLANTED[planted]

    assert set(summary(audit(plant(WELL)))) == {trouble.value for trouble in expected}


def test_every_kind_of_trouble_between_the_sides_is_planted() -> None:
    """A check that nobody has seen fail may be one that cannot."""
    assert {trouble for _, troubles in PLANTED.values() for trouble in troubles} == set(Trouble)


def test_a_customers_own_secret_is_nobodys_copy() -> None:
    """What carries no mark of ours is theirs."""
    assert audit(with_secrets(SECRET, a_secret("default", "mine", name="mine"))(WELL)) == ()


def test_an_order_that_nobody_is_sure_of_may_be_there_or_not() -> None:
    """A request that failed promises nothing; what is there is held to the same rules."""
    assert audit(replace(WELL, promised={}, ended=frozenset())) == ()


def test_a_finding_between_the_sides_names_the_order() -> None:
    """So that whoever reads a failed run knows where to look."""
    assert audit(with_copies(copy_of(KEY))(WELL)) == (
        Finding(Trouble.COPY_MISSING, "LLMInstance default/chat"),
    )
