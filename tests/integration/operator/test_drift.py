"""What others add to children on a real API server: taken away once, and never fought about."""

from typing import Any

import pytest

from eventually import eventually
from operator_passes import InstanceOperator, order
from privatellm import labels
from privatellm.kube import KubeClient, Manifest, PatchType, kinds
from token_crash import FragileClient

pytestmark = pytest.mark.integration

NAME = "chat-llama"
POD = "/spec/template/spec"

ADDITIONS: dict[str, tuple[kinds.Kind, list[tuple[str, Any]]]] = {
    "a container": (
        kinds.DEPLOYMENT,
        [(f"{POD}/containers/-", {"name": "spy", "image": "example.com/spy:1"})],
    ),
    "an init container and a volume": (
        kinds.DEPLOYMENT,
        [
            (f"{POD}/initContainers/-", {"name": "spy", "image": "example.com/spy:1"}),
            (f"{POD}/volumes/-", {"name": "host", "hostPath": {"path": "/"}}),
        ],
    ),
    "a variable, a port and a mount": (
        kinds.DEPLOYMENT,
        [
            (f"{POD}/containers/0/env/-", {"name": "LD_PRELOAD", "value": "/x.so"}),
            (f"{POD}/containers/0/ports/-", {"name": "x", "containerPort": 9}),
            (f"{POD}/containers/0/volumeMounts/-", {"name": "tmp", "mountPath": "/var"}),
        ],
    ),
    "the host's network, a node, an account": (
        kinds.DEPLOYMENT,
        [
            (f"{POD}/hostNetwork", True),
            (f"{POD}/nodeSelector", {"disk": "ssd"}),
            (f"{POD}/serviceAccountName", "admin"),
        ],
    ),
    "privileges": (
        kinds.DEPLOYMENT,
        [
            (f"{POD}/containers/0/securityContext/capabilities/add", ["SYS_ADMIN"]),
            (f"{POD}/containers/0/securityContext/runAsUser", 0),
        ],
    ),
    "a pause": (kinds.DEPLOYMENT, [("/spec/paused", True)]),
    "an address": (kinds.SERVICE, [("/spec/externalIPs", ["192.0.2.1"])]),
    "another port": (kinds.SERVICE, [("/spec/ports/-", {"name": "ssh", "port": 2222})]),
    "another backend": (
        kinds.INGRESS,
        [("/spec/defaultBackend", {"service": {"name": "evil", "port": {"number": 80}}})],
    ),
    "a way out": (kinds.NETWORK_POLICY, [("/spec/egress", [{}])]),
    "another key": (kinds.SECRET, [("/data/more", "ZXZpbA==")]),
}


async def _add(
    client: KubeClient, namespace: str, kind: kinds.Kind, additions: list[tuple[str, Any]]
) -> None:
    patch = [{"op": "add", "path": path, "value": value} for path, value in additions]
    await client.patch(kind, _name(kind), namespace, patch, patch_type=PatchType.JSON)


def _name(kind: kinds.Kind) -> str:
    return f"{NAME}-key" if kind is kinds.SECRET else NAME


async def _read(client: KubeClient, namespace: str, kind: kinds.Kind) -> Manifest:
    """Return a child without what counts its writes."""
    found = await client.get(kind, _name(kind), namespace)
    assert found is not None
    unstable = ("resourceVersion", "generation", "managedFields")
    metadata = {k: v for k, v in found["metadata"].items() if k not in unstable}
    return {k: v for k, v in found.items() if k != "status"} | {"metadata": metadata}


@pytest.mark.deep
@pytest.mark.parametrize("addition", ADDITIONS)
async def test_what_is_added_where_we_decide_alone_is_taken_away_by_one_write(
    client: KubeClient,
    fragile: FragileClient,
    operator: InstanceOperator,
    tenant: str,
    addition: str,
) -> None:
    """The child is what it was before, and the next passes write nothing."""
    kind, additions = ADDITIONS[addition]
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    before = await _read(client, tenant, kind)
    await _add(client, tenant, kind, additions)
    assert await _read(client, tenant, kind) != before

    fragile.forget()
    await operator.reconcile(tenant, "chat")
    assert await _read(client, tenant, kind) == before
    assert len(fragile.writes) == 1

    fragile.forget()
    await operator.reconcile(tenant, "chat")
    assert fragile.writes == []


async def _owner(client: KubeClient, namespace: str) -> Manifest:
    """Return a reference to an object that lives, because one to a dead object would be removed."""
    manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
    metadata = {"name": "owner", "namespace": namespace}
    created = await client.create(kinds.CONFIG_MAP, manifest | {"metadata": metadata})
    return manifest | {"name": "owner", "uid": created["metadata"]["uid"]}


async def test_another_owner_is_taken_away(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """It would keep a child alive when its instance goes."""
    reference = await _owner(client, tenant)
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    before = await _read(client, tenant, kinds.SERVICE)
    await _add(client, tenant, kinds.SERVICE, [("/metadata/ownerReferences/-", reference)])

    await operator.reconcile(tenant, "chat")

    assert await _read(client, tenant, kinds.SERVICE) == before


async def test_notes_of_others_stay_when_the_rest_is_repaired(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """On the child and on its template, as ``kubectl rollout restart`` leaves one."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    note = {"metadata": {"annotations": {"example.com/team": "blue"}}}
    patch = note | {"spec": {"template": note | {"spec": {"hostPID": True}}}}
    await client.patch(kinds.DEPLOYMENT, NAME, tenant, patch)

    await operator.reconcile(tenant, "chat")

    found = await client.get(kinds.DEPLOYMENT, NAME, tenant)
    assert found is not None
    template = found["spec"]["template"]
    assert "hostPID" not in template["spec"]
    for metadata in (found["metadata"], template["metadata"]):
        assert metadata["annotations"]["example.com/team"] == "blue"


@pytest.mark.parametrize("kind", [kinds.DEPLOYMENT, kinds.SERVICE, kinds.INGRESS, kinds.SECRET])
async def test_an_owner_that_was_removed_is_put_back(
    client: KubeClient,
    fragile: FragileClient,
    operator: InstanceOperator,
    tenant: str,
    system: str,
    kind: kinds.Kind,
) -> None:
    """Also by an operator that was restarted and never saw who owned the child."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    before = await _read(client, tenant, kind)
    await client.patch(kind, _name(kind), tenant, {"metadata": {"ownerReferences": None}})

    await InstanceOperator(fragile, system).reconcile(tenant, "chat")

    assert await _read(client, tenant, kind) == before


async def test_a_child_without_an_owner_goes_with_its_instance(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """No garbage collector would remove it."""
    await client.create(kinds.LLM_INSTANCE, order(tenant))
    await operator.reconcile(tenant, "chat")
    await client.delete(kinds.LLM_INSTANCE, "chat", tenant)
    await client.patch(kinds.SERVICE, NAME, tenant, {"metadata": {"ownerReferences": None}})

    await operator.reconcile(tenant, "chat")

    assert await client.get(kinds.SERVICE, NAME, tenant) is None


def _webhook(tenant: str) -> list[Manifest]:
    """Return a policy of the cluster that puts a sidecar into every Deployment of a namespace."""
    group = "admissionregistration.k8s.io/v1"
    template = "Object.spec.template{spec: Object.spec.template.spec{containers: [%s]}}"
    container = 'Object.spec.template.spec.containers{name: "mesh", image: "example.com/mesh:1"}'
    mutation = f"Object{{spec: Object.spec{{template: {template % container}}}}}"
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["deployments"],
    }
    selector = {"matchLabels": {"kubernetes.io/metadata.name": tenant}}
    policy = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": tenant},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": mutation}}
            ],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": tenant},
        "spec": {"policyName": tenant},
    }
    return [policy, binding]


MUTATIONS = kinds.Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    namespaced=False,
)
MUTATION_BINDINGS = kinds.Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    namespaced=False,
)


async def _containers(client: KubeClient, namespace: str) -> list[str]:
    found = await client.get(kinds.DEPLOYMENT, NAME, namespace)
    assert found is not None
    return [c["name"] for c in found["spec"]["template"]["spec"]["containers"]]


async def test_what_admission_adds_to_our_writes_is_not_fought_about(
    client: KubeClient, fragile: FragileClient, operator: InstanceOperator, tenant: str
) -> None:
    """A mesh may put a sidecar into every Deployment; a restart costs one write, and a spy still goes."""
    policy, binding = _webhook(tenant)
    await client.create(MUTATIONS, policy)
    await client.create(MUTATION_BINDINGS, binding)
    try:
        await _until_mutated(client, tenant)
        await client.create(kinds.LLM_INSTANCE, order(tenant))
        await operator.reconcile(tenant, "chat")
        assert "mesh" in await _containers(client, tenant)

        fragile.forget()
        await operator.reconcile(tenant, "chat")
        await operator.reconcile(tenant, "chat")
        assert fragile.writes == []

        await _add(client, tenant, *ADDITIONS["a container"])
        await operator.reconcile(tenant, "chat")
        assert sorted(await _containers(client, tenant)) == ["drain", "llama-server", "mesh"]
        assert len(fragile.writes) == 1

        fragile.forget()
        await operator.reconcile(tenant, "chat")
        assert fragile.writes == []
    finally:
        await client.delete(MUTATION_BINDINGS, tenant)
        await client.delete(MUTATIONS, tenant)


async def _until_mutated(client: KubeClient, namespace: str) -> None:
    """Wait until the API server has heard of the policy, by trying it on an object that is not stored."""
    pod = {"containers": [{"name": "a", "image": "example.com/a:1"}]}
    chosen = {"app": "probe"}
    spec = {
        "selector": {"matchLabels": chosen},
        "template": {"metadata": {"labels": chosen}, "spec": pod},
    }
    probe = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": spec,
    }

    async def mutated() -> bool:
        answer = await client.create(kinds.DEPLOYMENT, probe, dry_run=True)
        return len(answer["spec"]["template"]["spec"]["containers"]) > 1

    await eventually(mutated, within=60, what="a policy that puts sidecars into Deployments")


async def test_the_uid_label_of_a_stranger_with_another_owner_counts_for_nothing(
    client: KubeClient, operator: InstanceOperator, tenant: str
) -> None:
    """Who controls an object owns it, whatever its labels say."""
    created = await client.create(kinds.LLM_INSTANCE, order(tenant))
    owner = await _owner(client, tenant) | {"controller": True}
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": NAME,
            "namespace": tenant,
            "labels": {labels.INSTANCE_UID: created["metadata"]["uid"]},
            "ownerReferences": [owner],
        },
        "spec": {"ports": [{"port": 80}]},
    }
    await client.create(kinds.SERVICE, foreign)

    await operator.reconcile(tenant, "chat")

    found = await client.get(kinds.LLM_INSTANCE, "chat", tenant)
    assert found is not None
    accepted = next(c for c in found["status"]["conditions"] if c["type"] == "Accepted")
    assert accepted["reason"] == "ChildConflict"
