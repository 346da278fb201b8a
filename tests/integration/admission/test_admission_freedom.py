"""What tenants, the operator and Kubernetes itself may do as before."""

from pathlib import Path

import pytest

import admission_tenants as tenants
from admission_attempts import Attempt, creating, patching
from eventually import eventually
from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm.verifiers import SECRET_TYPE
from privatellm_local.platform.facts import SYSTEM_NAMESPACE, TOKEN_NAMESPACE

pytestmark = pytest.mark.integration

OWN_WORK = (
    creating(
        "an Ingress of another class", kinds.INGRESS, lambda ns: tenants.ingress(ns, "own", "other")
    ),
    creating("an Ingress of no class", kinds.INGRESS, lambda ns: tenants.ingress(ns, "own", None)),
    creating("a Service", kinds.SERVICE, lambda ns: tenants.service(ns, "own-llama", {})),
    creating("a Secret", kinds.SECRET, lambda ns: tenants.secret(ns, "own", {})),
    creating("a pod", kinds.POD, lambda ns: tenants.pod(ns, "own", {labels.INSTANCE: "prod"})),
    creating(
        "a Deployment managed by Helm",
        kinds.DEPLOYMENT,
        lambda ns: tenants.workload(kinds.DEPLOYMENT, ns, "own", {labels.MANAGED_BY: "Helm"}),
    ),
    patching(
        "more pods of an own Deployment",
        kinds.DEPLOYMENT,
        "web",
        {"spec": {"replicas": 3}},
        subresource="scale",
    ),
    patching("an order's spec", kinds.LLM_INSTANCE, tenants.ORDER, {"spec": {"replicas": 2}}),
    patching(
        "an order's scale",
        kinds.LLM_INSTANCE,
        tenants.ORDER,
        {"spec": {"replicas": 2}},
        subresource="scale",
    ),
    patching(
        "an order's labels",
        kinds.LLM_INSTANCE,
        tenants.ORDER,
        {"metadata": {"labels": {"team": "blue"}}},
    ),
)

MIDDLEWARE = {
    "apiVersion": kinds.MIDDLEWARE.api_version,
    "kind": "Middleware",
    "metadata": {"name": "private-llm-test", "namespace": SYSTEM_NAMESPACE},
    "spec": {"headers": {"customRequestHeaders": {"Upgrade": ""}}},
}
BY_MANAGER = {labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR}

OPERATORS_WORK = (
    creating(
        "a Deployment",
        kinds.DEPLOYMENT,
        lambda ns: tenants.workload(kinds.DEPLOYMENT, ns, "next-llama", tenants.CHILD_LABELS),
    ),
    creating(
        "a Service",
        kinds.SERVICE,
        lambda ns: tenants.service(ns, "next-llama", tenants.CHILD_LABELS, tenants.PORT),
    ),
    creating("an Ingress", kinds.INGRESS, lambda ns: tenants.ingress(ns, "next", "traefik")),
    creating(
        "an opening NetworkPolicy",
        kinds.NETWORK_POLICY,
        lambda ns: tenants.network_policy(ns, "next-llama", {}, ingress=[{}]),
    ),
    creating(
        "a backend key",
        kinds.SECRET,
        lambda ns: tenants.secret(ns, "next-llama-key", tenants.CHILD_LABELS),
    ),
    creating(
        "a verifier",
        kinds.SECRET,
        lambda _: tenants.secret(TOKEN_NAMESPACE, "v-abcdefghijkl", BY_MANAGER, SECRET_TYPE),
    ),
    creating("a Middleware", kinds.MIDDLEWARE, lambda _: MIDDLEWARE),
    patching(
        "a status",
        kinds.LLM_INSTANCE,
        tenants.ORDER,
        {"status": {"phase": "Failed"}},
        subresource="status",
    ),
    patching(
        "a repair",
        kinds.SERVICE,
        tenants.CHILD,
        {"spec": {"selector": {labels.LLM_INSTANCE: tenants.INSTANCE}}},
    ),
)


@pytest.mark.parametrize("attempt", OWN_WORK, ids=str)
async def test_a_tenant_works_in_its_namespace_as_before(
    attempt: Attempt, tenant: KubeClient, scene: str
) -> None:
    """Nothing that is the tenant's own is refused."""
    await attempt.send(tenant, scene)


@pytest.mark.parametrize("attempt", OPERATORS_WORK, ids=str)
async def test_the_operator_writes_what_it_must(
    attempt: Attempt, operator: KubeClient, scene: str
) -> None:
    """Every kind of write of the operator passes, with the operator's own rights."""
    await attempt.send(operator, scene)


async def test_every_policy_is_understood_by_the_api_server(
    client: KubeClient, stage: object
) -> None:
    """The API server has checked every expression against the types it is used on, without a warning."""

    async def checked() -> bool:
        policies = await client.list(
            kinds.VALIDATING_ADMISSION_POLICY, labels=f"{labels.PART_OF}={labels.PART_OF_US}"
        )
        findings = [policy.get("status", {}).get("typeChecking") for policy in policies.items]
        assert findings
        assert all(finding == {} for finding in findings), findings
        return True

    await eventually(checked, what="type checks of the policies")


async def test_controllers_bring_pods_of_a_child_and_take_them_away(
    client: KubeClient, namespace: str, stage: object
) -> None:
    """A Deployment of the operator gets its ReplicaSet and pods, rolls, scales, and goes with them."""
    deployment = tenants.workload(kinds.DEPLOYMENT, namespace, "live-llama", tenants.CHILD_LABELS)
    deployment["spec"]["replicas"] = 1
    await client.create(kinds.DEPLOYMENT, deployment)
    await _until_count(client, kinds.POD, namespace, 1)

    annotation = {"metadata": {"annotations": {"rolled": "once"}}}
    await client.patch(
        kinds.DEPLOYMENT, "live-llama", namespace, {"spec": {"template": annotation}}
    )
    await _until_count(client, kinds.REPLICA_SET, namespace, 2)

    await client.delete(kinds.DEPLOYMENT, "live-llama", namespace, propagation="Foreground")
    for kind in (kinds.POD, kinds.REPLICA_SET, kinds.DEPLOYMENT):
        await _until_count(client, kind, namespace, 0)


async def test_children_are_released_when_their_instance_is_deleted_without_them(
    client: KubeClient, namespace: str, stage: object
) -> None:
    """The garbage collector may take owners off children, or an orphaning deletion would hang."""
    owner = await client.create(
        kinds.CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": tenants.metadata(namespace, "owner")},
    )
    child = tenants.ingress(namespace, "live-llama", "traefik")
    child["metadata"] |= {
        "labels": tenants.CHILD_LABELS,
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "owner",
                "uid": owner["metadata"]["uid"],
            }
        ],
    }
    await client.create(kinds.INGRESS, child)

    await client.delete(kinds.CONFIG_MAP, "owner", namespace, propagation="Orphan")

    async def released() -> bool:
        seen = await client.get(kinds.INGRESS, "live-llama", namespace)
        gone = await client.get(kinds.CONFIG_MAP, "owner", namespace) is None
        return gone and seen is not None and "ownerReferences" not in seen["metadata"]

    await eventually(released, within=30, what="the release of the child")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kinds.INGRESS, tenants.CHILD),
        (kinds.SERVICE, tenants.CHILD),
        (kinds.SECRET, f"{tenants.CHILD}-key"),
        (kinds.POD, tenants.MODEL_POD),
    ],
)
async def test_deleting_stays_free(
    kind: kinds.Kind, name: str, tenant: KubeClient, scene: str
) -> None:
    """What is refused on deletion would hang garbage collection and the deletion of a namespace."""
    path = kind.path(scene, name)

    await tenant.request("DELETE", path, query={"dryRun": "All"})


async def test_a_namespace_with_children_can_be_deleted(
    client: KubeClient, kubeconfig: Path, namespace: str, stage: object
) -> None:
    """Nothing of it stays behind."""
    await tenants.furnish(client, namespace)

    await client.delete(kinds.NAMESPACE, namespace)

    async def gone() -> bool:
        return await client.get(kinds.NAMESPACE, namespace) is None

    await eventually(gone, within=60, what="the end of the namespace")


async def _until_count(client: KubeClient, kind: kinds.Kind, namespace: str, count: int) -> None:
    async def counted() -> bool:
        listing = await client.list(kind, namespace, labels=labels.LLM_INSTANCE)
        return len(listing.items) == count

    await eventually(counted, within=30, what=f"{count} {kind.plural}")
