"""People with Kubernetes' own roles use the embedded environment like a cluster with the chart."""

import json

import pytest

import embedded
from customer import instance
from eventually import eventually
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("role", "orders"), [("admin", True), ("edit", True), ("view", False)], ids=str
)
async def test_editors_order_and_viewers_look(
    environment: embedded.Environment, client: KubeClient, namespace: str, role: str, orders: bool
) -> None:
    """A binding of a stock role in a namespace is all that a customer needs there."""
    group, user = kinds.ROLE_BINDING.group, f"{role}-of-{namespace}"
    binding = {
        "apiVersion": kinds.ROLE_BINDING.api_version,
        "kind": "RoleBinding",
        "metadata": {"name": role, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    await client.create(kinds.ROLE_BINDING, binding)

    async def may(verb: str, resource: str) -> bool:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user,
                "resourceAttributes": {
                    "group": kinds.LLM_INSTANCE.group,
                    "resource": resource,
                    "verb": verb,
                    "namespace": namespace,
                },
            },
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return bool((await client.request("POST", path, body=review))["status"]["allowed"])

    await eventually(lambda: may("list", "llminstances"), within=30, what="the aggregated roles")
    assert await may("create", "apitokenrequests") is orders
    assert not await may("create", "llmmodels")
    if orders:
        order = json.dumps(instance(namespace, "chat", replicas=0))
        said = await embedded.kubectl(environment, "create", "-f", "-", "--as", user, stdin=order)
        assert "created" in said
