"""Nobody but the operator writes its children, poses as them, scales them or opens them."""

import pytest

import admission_tenants as tenants
from admission_attempts import Attempt, assert_refused_by, creating, patching
from eventually import eventually
from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm.kube.client import PatchType

pytestmark = pytest.mark.integration

BY_MANAGER = {labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR}
BY_INSTANCE = {labels.LLM_INSTANCE: tenants.INSTANCE}
OTHER_IMAGE = {"containers": [{"name": "main", "image": "registry.example/thief:1"}]}
TEMPLATE = {"metadata": {"labels": BY_INSTANCE}, "spec": OTHER_IMAGE | {"restartPolicy": "Never"}}
DEBUGGER = {"name": "debugger", "image": "registry.example/thief:1"}

FORGERIES = (
    creating(
        "a pod with the manager's label",
        kinds.POD,
        lambda ns: tenants.pod(ns, "thief", BY_MANAGER),
    ),
    creating(
        "a pod that a model's Service selects",
        kinds.POD,
        lambda ns: tenants.pod(ns, "thief", BY_INSTANCE | {labels.NAME: labels.MODEL_SERVER}),
    ),
    creating(
        "a Secret for the operator to adopt",
        kinds.SECRET,
        lambda ns: tenants.secret(ns, "next-llama-key", BY_MANAGER),
    ),
    creating(
        "a Service for the operator to adopt",
        kinds.SERVICE,
        lambda ns: tenants.service(ns, "next-llama", BY_INSTANCE),
    ),
    creating(
        "a Deployment for the operator to adopt",
        kinds.DEPLOYMENT,
        lambda ns: tenants.workload(kinds.DEPLOYMENT, ns, "next-llama", BY_MANAGER, pods={}),
    ),
    creating(
        "a ReplicaSet for the Deployment to adopt",
        kinds.REPLICA_SET,
        lambda ns: tenants.workload(kinds.REPLICA_SET, ns, "thief", tenants.CHILD_LABELS, pods={}),
    ),
    patching(
        "the label on an own Secret",
        kinds.SECRET,
        "web",
        {"metadata": {"labels": BY_MANAGER}},
    ),
    patching(
        "the label on an own pod",
        kinds.POD,
        "my-llama-7d4b9c6f5d-x2k8q",
        {"metadata": {"labels": BY_INSTANCE}},
    ),
)

CHANGES = (
    patching(
        "another image in the running pod",
        kinds.POD,
        tenants.MODEL_POD,
        {"spec": OTHER_IMAGE},
        patch_type=PatchType.STRATEGIC,
    ),
    patching(
        "a debugging container in the running pod",
        kinds.POD,
        tenants.MODEL_POD,
        {"spec": {"ephemeralContainers": [DEBUGGER]}},
        subresource="ephemeralcontainers",
        patch_type=PatchType.STRATEGIC,
    ),
    patching(
        "another size of the running pod",
        kinds.POD,
        tenants.MODEL_POD,
        {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "20m"}}}]}},
        subresource="resize",
        patch_type=PatchType.STRATEGIC,
    ),
    patching(
        "a pod out of its ReplicaSet and of every policy",
        kinds.POD,
        tenants.MODEL_POD,
        {"metadata": {"labels": dict.fromkeys(tenants.CHILD_LABELS)}},
    ),
    patching(
        "another image in the Deployment",
        kinds.DEPLOYMENT,
        tenants.CHILD,
        {"spec": {"template": {"spec": OTHER_IMAGE}}},
    ),
    patching(
        "another image in the ReplicaSet",
        kinds.REPLICA_SET,
        tenants.CHILD,
        {"spec": {"template": {"spec": OTHER_IMAGE}}},
    ),
    patching(
        "own pods behind the Service",
        kinds.SERVICE,
        tenants.CHILD,
        {"spec": {"selector": {"app": "thief"}}},
    ),
    patching(
        "one label off the Service",
        kinds.SERVICE,
        tenants.CHILD,
        {"metadata": {"labels": {labels.MANAGED_BY: None}}},
    ),
    patching(
        "a known backend key",
        kinds.SECRET,
        f"{tenants.CHILD}-key",
        {"stringData": {"api-key": "known"}},
    ),
    patching(
        "a NetworkPolicy that closes more",
        kinds.NETWORK_POLICY,
        tenants.CHILD,
        {"spec": {"policyTypes": ["Ingress", "Egress"]}},
    ),
    patching(
        "an open NetworkPolicy",
        kinds.NETWORK_POLICY,
        tenants.CHILD,
        {"spec": {"ingress": [{}]}},
    ),
)

SCALES = tuple(
    patching(
        f"more pods by the scale of the {kind.name}",
        kind,
        tenants.CHILD,
        {"spec": {"replicas": 50}},
        subresource="scale",
    )
    for kind in (kinds.DEPLOYMENT, kinds.REPLICA_SET)
)


def workload(kind: kinds.Kind, **spec: object) -> Attempt:
    """Return the attempt to have a controller create pods with our labels."""
    return creating(
        f"a {kind.name}",
        kind,
        lambda ns: {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": tenants.metadata(ns, "thief"),
            "spec": spec,
        },
    )


AUTOSCALER = kinds.Kind("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
SELECTOR = {"matchLabels": BY_INSTANCE}
ALWAYS = TEMPLATE | {"spec": OTHER_IMAGE}
DEPUTIES = (
    workload(kinds.DEPLOYMENT, selector=SELECTOR, template=ALWAYS),
    workload(kinds.REPLICA_SET, selector=SELECTOR, template=ALWAYS),
    workload(
        kinds.Kind("apps", "v1", "StatefulSet", "statefulsets"),
        selector=SELECTOR,
        template=ALWAYS,
        serviceName="thief",
    ),
    workload(
        kinds.Kind("apps", "v1", "DaemonSet", "daemonsets"), selector=SELECTOR, template=ALWAYS
    ),
    workload(
        kinds.Kind("", "v1", "ReplicationController", "replicationcontrollers"), template=ALWAYS
    ),
    workload(kinds.Kind("batch", "v1", "Job", "jobs"), template=TEMPLATE),
    workload(
        kinds.Kind("batch", "v1", "CronJob", "cronjobs"),
        schedule="* * * * *",
        jobTemplate={"spec": {"template": TEMPLATE}},
    ),
)


@pytest.mark.parametrize("attempt", FORGERIES, ids=str)
async def test_a_tenant_does_not_set_the_labels_of_a_child(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """Either label marks a child, on a new object and on an old one."""
    await assert_refused_by("children", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("attempt", CHANGES, ids=str)
async def test_a_tenant_does_not_change_a_child(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """What carries the labels is closed, and they do not come off."""
    # Some changes break another rule too, and the API server reports whichever it comes to first.
    rules = "(children|pod-templates|network-policies|service-ports)"
    await assert_refused_by(rules, attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("attempt", SCALES, ids=str)
async def test_a_tenant_scales_the_instance_and_nothing_below_it(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """The object of a scale request has no labels; its selector tells."""
    await assert_refused_by("scales", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("attempt", DEPUTIES, ids=str)
async def test_no_controller_lends_a_tenant_its_trust(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """A template with our labels is refused in every kind of workload."""
    await assert_refused_by("pod-templates", attempt, tenant, scene)
    await attempt.send(client, scene)


async def test_an_autoscaler_does_not_scale_a_model_server_for_a_tenant(
    client: KubeClient, namespace: str, stage: object
) -> None:
    """The real autoscaling controller is refused and says why in the autoscaler's conditions."""
    deployment = tenants.workload(kinds.DEPLOYMENT, namespace, "live-llama", tenants.CHILD_LABELS)
    deployment["spec"]["replicas"] = 1  # With none, autoscaling is off.
    await client.create(kinds.DEPLOYMENT, deployment)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "live-llama"}
    autoscaler = {
        "apiVersion": AUTOSCALER.api_version,
        "kind": AUTOSCALER.name,
        "metadata": tenants.metadata(namespace, "more"),
        "spec": {"scaleTargetRef": target, "minReplicas": 5, "maxReplicas": 50},
    }
    await client.create(AUTOSCALER, autoscaler)

    async def refused() -> bool:
        seen = await client.get(AUTOSCALER, "more", namespace)
        conditions = (seen or {}).get("status", {}).get("conditions", [])
        return any("private-llm-scales" in condition["message"] for condition in conditions)

    # The controller looks every fifteen seconds.
    await eventually(refused, within=45, what="the refusal of the autoscaler")
    unscaled = await client.get(kinds.DEPLOYMENT, "live-llama", namespace)
    assert unscaled is not None
    assert unscaled["spec"]["replicas"] == 1
