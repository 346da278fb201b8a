import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_objects import (
    BACKEND_KEY,
    NOW,
    children,
    facts,
    instance,
    instance_manifest,
    model,
    settings,
    stored,
    world,
)
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.kube import kinds
from privatellm_operator.reconcile.instance.checks import CHECKS, first_fault
from privatellm_operator.reconcile.instance.decide import decide
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.plan import Delete, Plan, Restore, Strip, Write
from privatellm_operator.reconcile.instance.reasons import Reason
from privatellm_operator.reconcile.matching import exceeds, lacks, matches, smuggled
from privatellm_operator.reconcile.restoring import fingerprint, restoration
from privatellm_operator.render.instance import with_digest
from privatellm_operator.settings import CapSettings

CHAT = "chat-llama"


def plan(seen: InstanceWorld, **groups: Any) -> Plan:
    return decide(seen, settings(**groups), BACKEND_KEY)


def changed(name: tuple[kinds.Kind, str], **fields: Any) -> dict[Any, dict[str, Any]]:
    """Return a settled set of children of which one was changed."""
    live = copy.deepcopy(children(facts()))
    live[name] |= fields
    return live


def test_a_new_order_writes_every_child_and_adopts_none() -> None:
    """Each first write says that there must be no such object yet."""
    steps = plan(world()).steps
    assert [step.kind.name for step in steps] == [
        "Secret",
        "NetworkPolicy",
        "Service",
        "Deployment",
        "Ingress",
    ]
    assert all(isinstance(step, Write) and step.uid is None for step in steps)


def test_a_settled_world_needs_nothing() -> None:
    """A pass that finds everything as wanted writes nothing."""
    assert plan(world(live=children(facts()))) == Plan()


@given(
    st.integers(0, 5),
    st.none() | st.just("a" * 64),
    st.sampled_from(["500m", "0.5", 1, "1.5", "1500m"]),
)
def test_deciding_on_what_was_decided_needs_nothing(
    replicas: int, sha256: str | None, cpu: str | int
) -> None:
    """Passes are idempotent."""
    ordered = instance(replicas=replicas)
    served = model(sha256=sha256, resources={"requests": {"cpu": cpu}})
    written = [
        step.manifest
        for step in plan(world(ordered, served=served)).steps
        if isinstance(step, Write)
    ]
    live = {(kinds.kind_of(m), m["metadata"]["name"]): stored(m) for m in written}

    assert plan(world(ordered, served=served, live=live)) == Plan()


def test_drift_is_repaired_on_exactly_the_object_that_was_seen() -> None:
    """The write names the UID, so that an object put in its place is not touched."""
    live = children(facts())
    live[kinds.SERVICE, CHAT]["spec"] = {"selector": {}, "ports": []}

    [step] = plan(world(live=live)).steps

    assert isinstance(step, Write)
    assert (step.kind, step.uid) == (kinds.SERVICE, "uid-of-Service")


def added(change: Callable[[dict[str, Any]], Any]) -> dict[Any, dict[str, Any]]:
    """Return settled children to whose pod spec somebody added something."""
    live = copy.deepcopy(children(facts()))
    change(live[kinds.DEPLOYMENT, CHAT]["spec"]["template"]["spec"])
    return live


ADDITIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a container": lambda pod: pod["containers"].append({"name": "spy", "image": "evil"}),
    "a sidecar in place of the fetcher": lambda pod: pod["initContainers"][0].update(
        restartPolicy="Always"
    ),
    "an init container": lambda pod: pod["initContainers"].append({"name": "spy", "image": "evil"}),
    "a variable": lambda pod: pod["containers"][0]["env"].append(
        {"name": "LD_PRELOAD", "value": "x"}
    ),
    "a port": lambda pod: pod["containers"][0]["ports"].append({"name": "x", "containerPort": 9}),
    "a volume": lambda pod: pod["volumes"].append({"name": "host", "hostPath": {"path": "/"}}),
    "a mount": lambda pod: pod["containers"][0]["volumeMounts"].append(
        {"name": "backend-key", "mountPath": "/elsewhere"}
    ),
    "a node selector": lambda pod: pod.update(nodeSelector={"disk": "ssd"}),
    "the host's network": lambda pod: pod.update(hostNetwork=True),
    "the host's processes": lambda pod: pod.update(hostPID=True),
    "an account": lambda pod: pod.update(serviceAccountName="admin"),
    "a privilege": lambda pod: pod["containers"][0]["securityContext"].update(privileged=True),
    "a capability": lambda pod: pod["containers"][0]["securityContext"]["capabilities"].update(
        add=["SYS_ADMIN"]
    ),
    "a user": lambda pod: pod["containers"][0]["securityContext"].update(runAsUser=0),
    "a command": lambda pod: pod["containers"][0].update(command=["sh"]),
    "a source of variables": lambda pod: pod["containers"][0].update(
        envFrom=[{"secretRef": {"name": "x"}}]
    ),
}


@pytest.mark.parametrize("change", ADDITIONS.values(), ids=ADDITIONS)
def test_what_somebody_adds_to_a_pod_is_taken_away(change: Callable[[dict[str, Any]], Any]) -> None:
    """By one write to exactly that Deployment, because applying does not remove what others added."""
    live = added(change)

    [step] = plan(world(live=live)).steps

    assert isinstance(step, Restore)
    assert (step.kind, step.uid) == (kinds.DEPLOYMENT, "uid-of-Deployment")
    patch = {
        operation["path"]: operation["value"] for operation in restoration(step.live, step.manifest)
    }
    desired = children(facts())[kinds.DEPLOYMENT, CHAT]
    assert patch["/metadata/uid"] == "uid-of-Deployment"
    assert patch["/spec"] == desired["spec"]
    assert patch["/metadata/ownerReferences"] == desired["metadata"]["ownerReferences"]


def test_notes_on_a_template_survive_a_repair() -> None:
    """``kubectl rollout restart`` leaves one; removing it would roll the pods once more."""
    live = added(lambda pod: pod.update(hostIPC=True))
    template = live[kinds.DEPLOYMENT, CHAT]["spec"]["template"]
    template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "now"

    [step] = plan(world(live=live)).steps

    assert isinstance(step, Restore)
    spec = next(o["value"] for o in restoration(step.live, step.manifest) if o["path"] == "/spec")
    assert spec["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] == "now"
    assert "hostIPC" not in spec["template"]["spec"]


def test_what_a_webhook_made_of_our_write_is_left_until_somebody_else_changes_it() -> None:
    """Writing again would get the same answer, for ever."""
    live = added(lambda pod: pod["containers"].append({"name": "sidecar", "image": "mesh"}))
    name = (kinds.DEPLOYMENT, CHAT)
    answered = {name: fingerprint(live[name])}
    assert plan(replace(world(live=live), answers=answered)).steps == ()

    other = replace(world(instance(replicas=3), live=live), answers=answered)
    assert [step.kind for step in plan(other).steps if step.kind is kinds.DEPLOYMENT]

    live[name]["spec"]["template"]["spec"]["hostNetwork"] = True
    [step] = plan(replace(world(live=live), answers=answered)).steps
    assert isinstance(step, Restore)


def test_an_owner_that_somebody_removed_is_put_back() -> None:
    """The child carries the instance's UID as a label too, so it is no stranger."""
    live = copy.deepcopy(children(facts()))
    del live[kinds.SERVICE, CHAT]["metadata"]["ownerReferences"]

    [step] = plan(world(live=live)).steps

    assert isinstance(step, Write)
    assert (step.kind, step.uid) == (kinds.SERVICE, "uid-of-Service")


def test_an_owner_that_somebody_added_is_taken_away() -> None:
    """It would keep a child alive when its instance goes."""
    live = copy.deepcopy(children(facts()))
    owners = live[kinds.SERVICE, CHAT]["metadata"]["ownerReferences"]
    owners.append({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "other"})

    [step] = plan(world(live=live)).steps

    assert isinstance(step, Restore)


def test_a_changed_order_rewrites_only_what_it_changes() -> None:
    """More replicas are one write; a second server brings the budget of their disruptions."""
    steps = plan(world(instance(replicas=3), live=children(facts(instance(replicas=2))))).steps
    assert [step.kind.name for step in steps] == ["Deployment"]

    steps = plan(world(instance(replicas=2), live=children(facts()))).steps
    assert {step.kind.name for step in steps} == {"Deployment", "PodDisruptionBudget"}

    steps = plan(world(instance(replicas=1), live=children(facts(instance(replicas=2))))).steps
    assert [type(step) for step in steps] == [Write, Delete]


def test_foreign_labels_are_kept_and_smuggled_routing_keys_removed() -> None:
    """A tenant's note stays; a tenant's router priority does not."""
    live = children(facts())
    annotations = live[kinds.INGRESS, CHAT]["metadata"]["annotations"]
    annotations |= {
        "team": "blue",
        "traefik.ingress.kubernetes.io/router.priority": "1000",
        "kubernetes.io/ingress.class": "nginx",
    }

    [step] = plan(world(live=live)).steps

    assert step == Strip(
        kinds.INGRESS,
        CHAT,
        "uid-of-Ingress",
        {
            "annotations": (
                "kubernetes.io/ingress.class",
                "traefik.ingress.kubernetes.io/router.priority",
            )
        },
    )


def test_a_child_that_is_not_wanted_any_more_is_deleted() -> None:
    """Whatever carries our UID and is not rendered goes."""
    live = children(facts())
    old = copy.deepcopy(live[kinds.SERVICE, CHAT])
    old["metadata"]["name"] = "chat-old"
    live[kinds.SERVICE, "chat-old"] = old

    assert plan(world(live=live)).steps == (Delete(kinds.SERVICE, "chat-old", "uid-of-Service"),)


def test_a_child_of_that_name_that_is_not_ours_is_never_adopted() -> None:
    """Not even one that names an earlier instance of the same name as its owner."""
    live = children(facts(instance(uid="earlier")))

    seen = plan(world(live=live))

    assert seen.steps == ()
    assert seen.fault is not None
    assert seen.fault.reason is Reason.CHILD_CONFLICT
    for kind, name in live:
        assert f"{kind.name} {name}" in seen.fault.message
    assert seen.look_again_after is not None


def test_what_a_predecessor_left_is_waited_for() -> None:
    """It goes by itself; an accepted order waits for all of it, and then says nothing of a conflict."""
    live = children(facts(instance(uid="earlier")))

    seen = plan(replace(world(live=live), leaving=frozenset(live)))

    assert (seen.fault, seen.steps) == (None, ())
    assert seen.delay is not None
    assert seen.delay.reason is Reason.PREDECESSOR_LEAVES
    assert f"Service {CHAT}" in seen.delay.message
    assert seen.look_again_after is not None


def test_a_conflict_beside_what_a_predecessor_left_is_told_at_once() -> None:
    """Waiting would not help."""
    live = children(facts(instance(uid="earlier")))
    stays = {(kinds.SERVICE, CHAT)}

    seen = plan(replace(world(live=live), leaving=frozenset(set(live) - stays)))

    assert seen.fault is not None
    assert seen.fault.reason is Reason.CHILD_CONFLICT
    assert f"Service {CHAT}" in seen.fault.message
    assert "Deployment" not in seen.fault.message


def test_a_route_waits_for_its_middlewares() -> None:
    """Traefik answers 404 for a route whose chain is missing."""
    steps = plan(world(middlewares=())).steps
    assert "Ingress" not in [step.kind.name for step in steps]


def leaving() -> LLMModel:
    """Return a model that somebody deleted and others use."""
    served = model()
    metadata = served.metadata.model_copy(update={"deletion_timestamp": NOW})
    return served.model_copy(update={"metadata": metadata})


FAULTS = {
    "clusterRef": (
        world(instance(clusterRef={"kubeconfigSecretName": "mine"})),
        Reason.CLUSTER_REF_NOT_SUPPORTED,
        "clusterRef",
    ),
    "unknown model": (world(known=False), Reason.UNKNOWN_MODEL, "tinyllama"),
    "broken model": (
        world(known=False, model_fault="spec.source: missing"),
        Reason.INVALID_MODEL,
        "spec.source",
    ),
    "reserved model": (
        world(served=model(allowedNamespaces=["other"])),
        Reason.MODEL_NOT_ALLOWED,
        "this namespace",
    ),
    "model that leaves": (world(served=leaving()), Reason.MODEL_LEAVES, "tinyllama"),
    "too many replicas": (world(instance(replicas=11)), Reason.TOO_MANY_REPLICAS, "11"),
    "full namespace": (world(older=2), Reason.QUOTA_EXCEEDED, "2"),
}


@pytest.mark.parametrize(("seen", "reason", "named"), FAULTS.values(), ids=FAULTS)
def test_a_wrong_order_says_what_is_wrong_and_changes_nothing(
    seen: InstanceWorld, reason: Reason, named: str
) -> None:
    """What ran before goes on as it was."""
    decided = plan(seen, caps=CapSettings(max_instances=2))
    assert decided.steps == ()
    assert decided.fault is not None
    assert decided.fault.reason is reason
    assert named in decided.fault.message


@pytest.mark.parametrize(
    "seen",
    [
        world(),
        world(instance(clusterRef={})),
        world(instance(clusterRef={"kubeconfigSecretName": ""})),
        world(served=model(allowedNamespaces=["acme", "other"])),
        world(instance(replicas=10)),
        world(older=1),
    ],
)
def test_a_right_order_has_no_fault(seen: InstanceWorld) -> None:
    """An empty reference to a cluster means none, and bounds include themselves."""
    assert first_fault(seen, CapSettings(max_instances=2)) is None


@pytest.mark.parametrize(
    ("accepted", "served", "reason"),
    [
        ("True", "tinyllama", None),
        ("False", "tinyllama", Reason.MODEL_LEAVES),
        ("True", "another", Reason.MODEL_LEAVES),
    ],
)
def test_a_user_of_a_leaving_model_stays_one_when_its_children_are_deleted(
    accepted: str, served: str, reason: Reason | None
) -> None:
    """What an instance was accepted with is in its status, not in its Deployment."""
    condition = {"type": "Accepted", "status": accepted, "reason": "X", "message": "X."}
    status = {"model": {"name": served}, "conditions": [condition]}
    ordered = LLMInstance.parse(instance_manifest() | {"status": status})

    fault = first_fault(world(ordered, served=leaving()), CapSettings())

    assert (fault.reason if fault else None) == reason


def test_each_check_has_a_reason_of_its_own() -> None:
    """A reason tells which rule was broken."""
    assert (
        len(CHECKS) == len(FAULTS) + 2
    )  # Conflicts of children and of claims have tests of their own.


@pytest.mark.parametrize(
    ("live", "desired", "same"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"l": [1, 2]}, {"l": [1]}, False),
        ({"l": [{"x": 1, "d": 0}]}, {"l": [{"x": 1}]}, False),
        ({"l": [{"x": 1}, {"x": 2}]}, {"l": [{"x": 1}]}, False),
        ({"env": [{"name": "b"}, {"name": "a", "d": 0}]}, {"env": [{"name": "a"}]}, True),
        ({"env": [{"name": "b"}]}, {"env": [{"name": "a"}]}, False),
        ({"middlewares": [{"name": "a"}, {"name": "b"}]}, {"middlewares": [{"name": "a"}]}, False),
        ({"selector": {"a": "1", "b": "2"}}, {"selector": {"a": "1"}}, False),
        ({"requests": {"cpu": "500m"}}, {"requests": {"cpu": 0.5}}, True),
        ({"requests": {"cpu": "500m"}}, {"requests": {"cpu": "1"}}, False),
        ({"sizeLimit": "1Gi"}, {"sizeLimit": "1024Mi"}, True),
        ({"value": "1Gi"}, {"value": "1024Mi"}, False),
        ({"a": None}, {"a": {"b": 1}}, False),
        ({"a": "text"}, {"a": ["t"]}, False),
        ({}, {"apiVersion": "v1", "kind": "Pod"}, True),
    ],
)
def test_an_object_lacks_nothing_when_all_that_is_wanted_is_in_it(
    live: dict[str, Any], desired: dict[str, Any], same: bool
) -> None:
    """What was added is another question."""
    assert lacks(live, desired) is not same


@pytest.mark.parametrize(
    ("live", "desired", "more"),
    [
        ({"spec": {"a": 1, "hostNetwork": True}}, {"spec": {"a": 1}}, True),
        ({"spec": {"nodeSelector": {"a": "b"}}}, {"spec": {}}, True),
        ({"spec": {"nodeSelector": {}, "tolerations": [], "hostname": ""}}, {"spec": {}}, False),
        ({"spec": {"runAsUser": 0}}, {"spec": {}}, True),
        ({"spec": {"restartPolicy": "Always"}}, {"spec": {}}, False),
        ({"spec": {"restartPolicy": "Never"}}, {"spec": {}}, True),
        (
            {"initContainers": [{"name": "a", "restartPolicy": "Always"}]},
            {"initContainers": [{"name": "a"}]},
            True,
        ),
        ({"spec": {"clusterIP": "127.100.0.9"}}, {"spec": {}}, False),
        ({"spec": {"externalIPs": ["192.0.2.1"]}}, {"spec": {}}, True),
        ({"env": [{"name": "a"}, {"name": "b"}]}, {"env": [{"name": "a"}]}, True),
        ({"env": [{"name": "a", "value": "x"}]}, {"env": [{"name": "a"}]}, True),
        (
            {"volumeMounts": [{"name": "tmp", "mountPath": "/a"}]},
            {"volumeMounts": [{"name": "tmp", "mountPath": "/a"}]},
            False,
        ),
        (
            {"volumeMounts": [{"name": "tmp", "mountPath": p} for p in ("/a", "/b")]},
            {"volumeMounts": [{"name": "tmp", "mountPath": "/a"}]},
            True,
        ),
        ({"ports": [{"containerPort": 1}]}, {"ports": []}, True),
        # A selector and a plain list are one value: what differs there is missing.
        ({"selector": {"a": "1", "b": "2"}}, {"selector": {"a": "1"}}, False),
        ({"args": ["a", "b"]}, {"args": ["a"]}, False),
        ({"data": {"a": "x", "b": "y"}}, {"data": {"a": "x"}}, True),
        ({"immutable": True}, {}, True),
        ({"status": {"replicas": 1}, "apiVersion": "v1"}, {}, False),
        ({"template": {"metadata": {"annotations": {"a": "b"}}}}, {"template": {}}, False),
        ({"metadata": {"labels": {"team": "blue"}, "ownerReferences": []}}, {}, False),
        (
            {"metadata": {"ownerReferences": [{"uid": "1"}, {"uid": "2"}]}},
            {"metadata": {"ownerReferences": [{"uid": "1"}]}},
            True,
        ),
    ],
)
def test_an_object_exceeds_what_is_wanted_where_we_decide_alone(
    live: dict[str, Any], desired: dict[str, Any], more: bool
) -> None:
    """Specs, data and owners are ours; defaults, labels, annotations and status are no additions."""
    assert exceeds(_whole(live), _whole(desired)) is more


def _whole(part: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}} | part


words = st.sampled_from(["a", "b", "name", "requests", "x"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(words, json_values))
def test_everything_matches_itself(value: dict[str, Any]) -> None:
    """What was written as wanted is wanted no further."""
    assert matches(_whole({"spec": value}), _whole({"spec": value}))


@given(st.dictionaries(words, json_values))
def test_the_digest_of_a_manifest_does_not_depend_on_the_order_of_keys(
    value: dict[str, Any],
) -> None:
    """A restart renders the same digest."""
    manifest = {"metadata": {"name": "x"}, "spec": value}
    turned = {"spec": dict(reversed(value.items())), "metadata": {"name": "x"}}
    assert with_digest(manifest) == with_digest(turned)


def test_our_own_routing_keys_are_not_smuggled() -> None:
    """Only what we did not set is removed."""
    key = "traefik.ingress.kubernetes.io/router.middlewares"
    object_with_it: dict[str, Any] = {"metadata": {"annotations": {key: "x"}}}
    assert smuggled(object_with_it, object_with_it) == {}
    assert smuggled(object_with_it, {"metadata": {}}) == {"annotations": (key,)}
