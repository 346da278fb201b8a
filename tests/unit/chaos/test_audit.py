"""The audit of the fault suite finds each kind of trouble, and nothing in a world that is well.

An audit that cannot fail is worth nothing, so every trouble is planted once into the same settled world.
"""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chaos_audit import Answer, Finding, Snapshot, Trouble, audit, summary
from operator_objects import NOW, instance_manifest, model_manifest, settings
from privatellm import labels
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.backend_keys import PlatformKey
from privatellm.kube import Manifest, kinds
from privatellm.names import slug_of
from privatellm.tokens import Token
from privatellm.verifiers import Verifier, hash_profile
from privatellm_operator.render.children import build_all
from privatellm_operator.render.instance import InstanceFacts
from privatellm_operator.render.middlewares import build_all as build_middlewares

PLATFORM_KEY = PlatformKey.of("a platform key of the tests, long enough")
TOKENS = "private-llm-tokens"
INSTANCE_UID, REQUEST_UID, REPLICA_SET_UID, POD_UID = "uid-i", "uid-r", "uid-rs", "uid-p"
SETTINGS = settings()
Plant = Callable[[Snapshot], Snapshot]


def changed(manifest: Manifest, *path: str, to: Any) -> Manifest:
    """Return a copy in which one field says something else."""
    key, *rest = path
    return manifest | {key: changed(manifest[key], *rest, to=to) if rest else to}


def instance() -> Manifest:
    """Return a ready instance."""
    slug = slug_of(INSTANCE_UID)
    status = {
        "phase": "Ready",
        "slug": slug,
        "endpoint": f"https://llm.example.com/llm/{slug}",
        "readyReplicas": 1,
        "observedGeneration": 1,
    }
    return instance_manifest(uid=INSTANCE_UID) | {"status": status}


def children() -> tuple[Manifest, ...]:
    """Return what the instance has, as the API server shows it."""
    ordered, model = LLMInstance.parse(instance()), LLMModel.parse(model_manifest())
    backend_key = PLATFORM_KEY.backend_key(INSTANCE_UID)
    built = build_all(InstanceFacts(ordered, model, SETTINGS, backend_key))
    is_ready = {"status": {"readyReplicas": 1}}
    return tuple(each | is_ready if each["kind"] == "Deployment" else each for each in built)


def request(**spec: Any) -> Manifest:
    """Return a token request that is ready."""
    return {
        "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
        "kind": "APITokenRequest",
        "metadata": {
            "name": "mine",
            "namespace": "acme",
            "uid": REQUEST_UID,
            "generation": 1,
            "creationTimestamp": "2026-11-30T08:00:00Z",
        },
        "spec": {"instanceName": "chat"} | spec,
        "status": {"phase": "Ready", "keyID": TOKEN.key_id},
    }


def verifier(token: Token, request_uid: str = REQUEST_UID) -> Manifest:
    """Return the verifier of a token."""
    return Verifier(
        key_id=token.key_id,
        hash=hash_profile().hash(token.secret),
        request_uid=request_uid,
        instance_uid=INSTANCE_UID,
        slug=slug_of(INSTANCE_UID),
        namespace="acme",
        not_before=NOW,
    ).to_secret(TOKENS)


def secret(text: str) -> Manifest:
    """Return the customer's Secret with this key."""
    return {
        "kind": "Secret",
        "metadata": {
            "name": "mine-token",
            "namespace": "acme",
            "ownerReferences": [{"uid": REQUEST_UID, "controller": True}],
        },
        "data": {"OPENAI_API_KEY": base64.b64encode(text.encode()).decode()},
    }


def pod(uid: str = POD_UID, owner: str = REPLICA_SET_UID) -> Manifest:
    """Return a pod that says that it runs."""
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{uid}",
            "namespace": "acme",
            "uid": uid,
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "status": {"phase": "Running"},
    }


TOKEN, OTHER = Token.mint(), Token.mint()
LIVE = Answer("live", should_open=True, opened=True, by="the edge", said="200")
DEAD = Answer("dead", should_open=False, opened=False, by="the edge", said="401")

WELL = Snapshot(
    now=NOW,
    settings=SETTINGS,
    platform_key=PLATFORM_KEY,
    acknowledged=frozenset({("LLMInstance", "acme/chat"), ("APITokenRequest", "acme/mine")}),
    instances=(instance(),),
    requests=(request(),),
    models=(model_manifest(),),
    children=children(),
    middlewares=build_middlewares(SETTINGS, ()),
    verifiers=(verifier(TOKEN),),
    secrets=(secret(TOKEN.reveal()),),
    owners=frozenset({REPLICA_SET_UID}),
    pods=(pod(),),
    pods_with_processes=frozenset({POD_UID}),
    pod_directories=frozenset({POD_UID}),
    answers=(LIVE, DEAD),
)


def with_instance(*path: str, to: Any) -> Plant:
    """Plant something into the instance."""
    return lambda world: replace(world, instances=(changed(instance(), *path, to=to),))


def with_request(manifest: Manifest) -> Plant:
    """Plant another request."""
    return lambda world: replace(world, requests=(manifest,))


def with_child(kind: str, change: Callable[[Manifest], Manifest | None]) -> Plant:
    """Plant something into the child of a kind; nothing removes it."""

    def plant(world: Snapshot) -> Snapshot:
        found = [change(c) if c["kind"] == kind else c for c in world.children]
        return replace(world, children=tuple(c for c in found if c is not None))

    return plant


def with_verifiers(*verifiers: Manifest) -> Plant:
    """Plant other verifiers."""
    return lambda world: replace(world, verifiers=verifiers)


def with_secret(*secrets: Manifest) -> Plant:
    """Plant other customers' Secrets."""
    return lambda world: replace(world, secrets=secrets)


def with_middleware(name: str, *path: str, to: Any) -> Plant:
    """Plant something into a middleware."""
    return lambda world: replace(
        world,
        middlewares=tuple(
            changed(each, *path, to=to) if each["metadata"]["name"] == name else each
            for each in world.middlewares
        ),
    )


STRANGER = changed(
    changed(children()[0], "metadata", "ownerReferences", to=[{"uid": "uid-gone"}]),
    *("metadata", "name"),
    to="old-llama",
)
EXPIRED = request(expiresAfter="1m")

PLANTED: dict[str, tuple[Plant, set[Trouble]]] = {
    "an instance that was acknowledged and is gone": (
        lambda world: replace(world, instances=(), children=()),
        {Trouble.ORDER_LOST, Trouble.SECRET_WRONG},
    ),
    "a request that was acknowledged and is gone": (
        lambda world: replace(world, requests=(), verifiers=()),
        {Trouble.ORDER_LOST},
    ),
    "an instance that does not go": (
        with_instance("metadata", "deletionTimestamp", to="2026-11-30T08:30:00Z"),
        {Trouble.ORDER_STUCK},
    ),
    "a pod that does not go": (
        lambda world: replace(
            world,
            pods=(changed(pod(), "metadata", "deletionTimestamp", to="2026-11-30T08:30:00Z"),),
        ),
        {Trouble.ORDER_STUCK},
    ),
    "a Service that is missing": (with_child("Service", lambda _: None), {Trouble.CHILD_MISSING}),
    "an Ingress that leads elsewhere": (
        with_child("Ingress", lambda c: changed(c, "spec", "ingressClassName", to="nginx")),
        {Trouble.CHILD_DIFFERS},
    ),
    "a backend key of another platform key": (
        with_child("Secret", lambda c: changed(c, "data", "api-key", to="bm8=")),
        {Trouble.CHILD_DIFFERS},
    ),
    "a child of an instance that is gone": (
        lambda world: replace(world, children=(*world.children, STRANGER)),
        {Trouble.CHILD_ORPHANED},
    ),
    "a phase that is not true": (
        with_instance("status", "phase", to="Failed"),
        {Trouble.INSTANCE_UNTRUE},
    ),
    "a status of an older generation": (
        with_instance("metadata", "generation", to=2),
        {Trouble.INSTANCE_UNTRUE},
    ),
    "an endpoint of somebody else": (
        with_instance("status", "endpoint", to="https://llm.example.com/llm/x"),
        {Trouble.INSTANCE_UNTRUE},
    ),
    "a Deployment without a ready pod behind a ready instance": (
        with_child("Deployment", lambda c: changed(c, "status", "readyReplicas", to=0)),
        {Trouble.INSTANCE_UNTRUE},
    ),
    "a request that is ready and says it is not": (
        with_request(changed(request(), "status", "phase", to="Pending")),
        {Trouble.REQUEST_UNTRUE},
    ),
    "a revoked request with a verifier": (
        with_request(request(revoked=True)),
        {Trouble.REQUEST_UNTRUE, Trouble.VERIFIER_COUNT},
    ),
    "an expired request with a verifier": (
        with_request(EXPIRED),
        {Trouble.REQUEST_UNTRUE, Trouble.VERIFIER_COUNT},
    ),
    "a request without a verifier": (with_verifiers(), {Trouble.VERIFIER_COUNT}),
    "a request with two verifiers": (
        with_verifiers(verifier(TOKEN), verifier(OTHER)),
        {Trouble.VERIFIER_COUNT},
    ),
    "a request without its Secret": (with_secret(), {Trouble.SECRET_WRONG}),
    "a Secret with another key": (with_secret(secret(OTHER.reveal())), {Trouble.SECRET_WRONG}),
    "a Secret without a key": (with_secret(secret("")), {Trouble.SECRET_WRONG}),
    "a Secret that holds the key id with another secret": (
        with_secret(secret(Token.mint(TOKEN.key_id).reveal())),
        {Trouble.SECRET_WRONG},
    ),
    "a Secret that belongs to nobody": (
        with_secret(changed(secret(TOKEN.reveal()), "metadata", "ownerReferences", to=[])),
        {Trouble.SECRET_WRONG},
    ),
    "a verifier whose request is gone": (
        with_verifiers(verifier(TOKEN), verifier(OTHER, "uid-gone")),
        {Trouble.VERIFIER_ORPHANED},
    ),
    "a verifier that nobody can read": (
        with_verifiers(verifier(TOKEN), changed(verifier(OTHER), "data", "slug", to="eA==")),
        {Trouble.VERIFIER_ORPHANED},
    ),
    "a verifier whose label names another request": (
        with_verifiers(
            changed(verifier(TOKEN), "metadata", "labels", labels.REQUEST_UID, to="uid-other")
        ),
        {Trouble.VERIFIER_ORPHANED},
    ),
    "a live key that is refused": (
        lambda world: replace(world, answers=(replace(LIVE, opened=False, said="503"), DEAD)),
        {Trouble.LIVE_REFUSED},
    ),
    "a dead key that is let in": (
        lambda world: replace(world, answers=(LIVE, replace(DEAD, opened=True, said="200"))),
        {Trouble.DEAD_ALLOWED},
    ),
    "a process whose pod is gone": (
        lambda world: replace(world, pods_with_processes=frozenset({POD_UID, "uid-gone"})),
        {Trouble.PROCESS_ORPHANED},
    ),
    "a pod that says it runs and has no process": (
        lambda world: replace(world, pods_with_processes=frozenset()),
        {Trouble.POD_IDLE},
    ),
    "a pod whose owner is gone": (
        lambda world: replace(world, pods=(pod(owner="uid-gone"),)),
        {Trouble.POD_ORPHANED},
    ),
    "a directory that a pod left behind": (
        lambda world: replace(world, pod_directories=frozenset({POD_UID, "uid-gone"})),
        {Trouble.DIRECTORY_ORPHANED},
    ),
    "a middleware that is missing": (
        lambda world: replace(world, middlewares=world.middlewares[1:]),
        {Trouble.MIDDLEWARE_MISSING},
    ),
    "a check that is asked elsewhere": (
        with_middleware(
            "private-llm-auth", *("spec", "forwardAuth", "address"), to="http://elsewhere"
        ),
        {Trouble.MIDDLEWARE_DIFFERS},
    ),
    "the chain of a model that is gone": (
        with_middleware("private-llm-strip", "metadata", "name", to="private-llm-old"),
        {Trouble.MIDDLEWARE_ORPHANED, Trouble.MIDDLEWARE_MISSING},
    ),
}


def test_a_world_that_is_well_has_no_finding() -> None:
    """Everything in it is as the orders say."""
    assert audit(WELL) == ()


@pytest.mark.parametrize("planted", PLANTED)
def test_each_planted_trouble_is_found(planted: str) -> None:
    """And no other one, so that a finding says what is wrong."""
    plant, expected = PLANTED[planted]

    assert set(summary(audit(plant(WELL)))) == {trouble.value for trouble in expected}


def test_every_kind_of_trouble_is_planted() -> None:
    """A check that nobody has seen fail may be one that cannot."""
    assert {trouble for _, troubles in PLANTED.values() for trouble in troubles} == set(Trouble)


def test_a_request_that_ends_in_this_second_may_still_be_ready() -> None:
    """The pass that ends it is under way."""
    created = NOW - timedelta(hours=1)
    world = replace(WELL, requests=(request(expiresAfter="1h"),), now=created + timedelta(hours=1))

    assert audit(world) == ()


def test_a_finding_names_the_object() -> None:
    """So that whoever reads a failed run knows where to look."""
    world = with_child("Service", lambda _: None)(WELL)

    assert audit(world) == (Finding(Trouble.CHILD_MISSING, "Service acme/chat-llama"),)
