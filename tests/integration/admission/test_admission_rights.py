"""What the parts' service accounts may do, in the API server's own words (SubjectAccessReview)."""

from dataclasses import dataclass

import pytest
from typing_extensions import override

from privatellm.kube import KubeClient
from privatellm.kube.kinds import GROUP
from privatellm_local.platform.facts import AUTHSERVER, OPERATOR, SYSTEM_NAMESPACE, TOKEN_NAMESPACE

pytestmark = pytest.mark.integration

TENANT = "the customer's namespace"
ELSEWHERE = "kube-system"
EVERYWHERE = ""
TRAEFIK = "traefik.io"
RBAC = "rbac.authorization.k8s.io"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Right:
    """One thing that somebody may do, or may not."""

    group: str
    resource: str
    verb: str
    where: str = EVERYWHERE

    @override
    def __str__(self) -> str:
        """Name the test case."""
        return f"{self.verb} {self.resource} in {self.where or 'the cluster'}".replace(" ", "-")


def rights(group: str, resource: str, verbs: str, where: str = EVERYWHERE) -> tuple[Right, ...]:
    """Return a right for each of these verbs."""
    return tuple(Right(group, resource, verb, where) for verb in verbs.split())


GIVEN = {
    OPERATOR: (
        *rights(GROUP, "llminstances", "get list watch patch"),
        *rights(GROUP, "llminstances/status", "patch"),
        *rights(GROUP, "apitokenrequests", "list watch patch"),
        *rights(GROUP, "apitokenrequests/status", "update"),
        *rights("apps", "deployments", "get list watch create patch delete", TENANT),
        *rights("", "secrets", "get list watch create patch delete", TENANT),
        *rights("", "secrets", "get list watch create delete", TOKEN_NAMESPACE),
        *rights(TRAEFIK, "middlewares", "list watch create patch delete", SYSTEM_NAMESPACE),
    ),
    AUTHSERVER: rights("", "secrets", "get list watch", TOKEN_NAMESPACE),
}

WITHHELD = {
    OPERATOR: (
        # Verifiers are made and removed, and never changed.
        *rights("", "secrets", "update patch deletecollection", TOKEN_NAMESPACE),
        # Secrets of namespaces that were not onboarded, the platform's own among them.
        *rights("", "secrets", "get list watch create", ELSEWHERE),
        *rights("", "secrets", "get list create patch delete", SYSTEM_NAMESPACE),
        *rights("", "secrets", "list watch"),
        # What customers own.
        *rights(GROUP, "llminstances", "create delete update", TENANT),
        *rights(GROUP, "apitokenrequests", "create delete update", TENANT),
        *rights("", "namespaces", "create delete patch"),
        # Ways to become somebody else.
        *rights("", "pods", "create patch delete", TENANT),
        *rights("", "pods/exec", "get create", TENANT),
        *rights("", "serviceaccounts/token", "create", SYSTEM_NAMESPACE),
        *rights("", "users", "impersonate"),
        *rights(RBAC, "clusterroles", "create patch bind escalate"),
        *rights(RBAC, "rolebindings", "create patch", TENANT),
        *rights("admissionregistration.k8s.io", "validatingadmissionpolicies", "create delete"),
        *rights(TRAEFIK, "middlewares", "list create patch", TENANT),
        *rights(TRAEFIK, "ingressroutes", "create", SYSTEM_NAMESPACE),
    ),
    AUTHSERVER: (
        *rights("", "secrets", "create update patch delete", TOKEN_NAMESPACE),
        *rights("", "secrets", "get list watch", SYSTEM_NAMESPACE),
        *rights("", "secrets", "get list watch", TENANT),
        *rights("", "secrets", "list watch"),
        *rights(GROUP, "llminstances", "get list watch patch"),
        *rights(GROUP, "apitokenrequests", "get list watch patch"),
        *rights(GROUP, "apitokenrequests/status", "update patch"),
        *rights("", "pods", "get list create", SYSTEM_NAMESPACE),
        *rights("", "serviceaccounts/token", "create", SYSTEM_NAMESPACE),
    ),
}


async def may(client: KubeClient, subject: tuple[str, str], right: Right, tenant: str) -> bool:
    """Ask the API server.

    Args:
        client: An administrator's client.
        subject: Namespace and name of a service account.
        right: What it may do or not.
        tenant: The customer's namespace.
    """
    resource, _, subresource = right.resource.partition("/")
    namespace, account = subject
    groups = ["serviceaccounts", f"serviceaccounts:{namespace}", "authenticated"]
    spec = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": [f"system:{group}" for group in groups],
        "resourceAttributes": {
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
            "verb": right.verb,
            "namespace": tenant if right.where == TENANT else right.where,
        },
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
    answer = await client.request("POST", REVIEWS, body=review)
    return bool(answer["status"]["allowed"])


@pytest.mark.parametrize("account", [OPERATOR, AUTHSERVER])
async def test_a_part_may_do_what_it_does_and_nothing_that_makes_it_more(
    client: KubeClient, scene: str, account: str
) -> None:
    """The customer's namespace is onboarded; the others are not."""
    part = (SYSTEM_NAMESPACE, account)
    refused = [str(right) for right in GIVEN[account] if not await may(client, part, right, scene)]
    allowed = [str(right) for right in WITHHELD[account] if await may(client, part, right, scene)]

    assert refused == []
    assert allowed == []


async def test_the_account_of_a_model_server_may_do_nothing(client: KubeClient, scene: str) -> None:
    """Its pods have no token of it either."""
    server = (scene, "default")
    everything = (*GIVEN[OPERATOR], *GIVEN[AUTHSERVER])

    assert [str(r) for r in everything if await may(client, server, r, scene)] == []
