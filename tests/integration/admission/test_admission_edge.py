"""Nobody but the operator routes requests at the edge."""

import pytest

import admission_tenants as tenants
from admission_attempts import Attempt, assert_refused_by, creating, patching
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration

INGRESS_ROUTE = kinds.Kind("traefik.io", "v1alpha1", "IngressRoute", "ingressroutes")
TLS_STORE = kinds.Kind("traefik.io", "v1alpha1", "TLSStore", "tlsstores")
OLD_CLASS = "kubernetes.io/ingress.class"
ROUTER = "traefik.ingress.kubernetes.io/router"


def edge_object(kind: kinds.Kind, name: str, **spec: object) -> Attempt:
    """Return the attempt to configure the edge."""
    return creating(
        f"a {kind.name}",
        kind,
        lambda ns: {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": tenants.metadata(ns, name),
            "spec": spec,
        },
    )


EDGE_OBJECTS = (
    edge_object(kinds.MIDDLEWARE, "private-llm-auth", headers={"customRequestHeaders": {}}),
    edge_object(INGRESS_ROUTE, "thief", routes=[{"match": "PathPrefix(`/llm`)", "priority": 9999}]),
    edge_object(TLS_STORE, "default", defaultCertificate={"secretName": "thief"}),
)

INGRESSES = (
    creating(
        "a longer path below an instance",
        kinds.INGRESS,
        lambda ns: tenants.ingress(ns, "thief", "traefik"),
    ),
    creating(
        "a router with a priority",
        kinds.INGRESS,
        lambda ns: tenants.ingress(ns, "thief", "traefik", **{f"{ROUTER}.priority": "9999"}),
    ),
    creating(
        "our class by the old annotation",
        kinds.INGRESS,
        lambda ns: tenants.ingress(ns, "thief", None, **{OLD_CLASS: "traefik"}),
    ),
    creating(
        "no class but annotations for the edge",
        kinds.INGRESS,
        lambda ns: tenants.ingress(ns, "thief", None, **{f"{ROUTER}.priority": "9999"}),
    ),
    creating(
        "an empty class and annotations for the edge",
        kinds.INGRESS,
        lambda ns: tenants.ingress(
            ns, "thief", None, **{OLD_CLASS: "", f"{ROUTER}.priority": "9999"}
        ),
    ),
    patching(
        "our class for an Ingress of another class",
        kinds.INGRESS,
        "web",
        {"spec": {"ingressClassName": "traefik"}},
    ),
    patching(
        "our class by annotation beside another class",
        kinds.INGRESS,
        "web",
        {"metadata": {"annotations": {OLD_CLASS: "traefik"}}},
    ),
)

PORTS = (
    creating(
        "the Service of an instance after deleting it",
        kinds.SERVICE,
        lambda ns: tenants.service(ns, "next-llama", {}, tenants.PORT),
    ),
    patching(
        "the edge's port on an own Service",
        kinds.SERVICE,
        "web",
        {"spec": {"ports": [tenants.PORT]}},
    ),
)


@pytest.mark.parametrize("attempt", EDGE_OBJECTS, ids=str)
async def test_a_tenant_configures_nothing_of_the_edge(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """Objects of the edge are refused to tenants, and fine when a platform engineer writes them."""
    await assert_refused_by("edge-objects", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("attempt", INGRESSES, ids=str)
async def test_a_tenant_writes_no_ingress_that_the_edge_serves(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """The class counts by field and by annotation, as it was and as it will be."""
    await assert_refused_by("ingresses", attempt, tenant, scene)
    await attempt.send(client, scene)


@pytest.mark.parametrize("change", [{"ingressClassName": "of-somebody-else"}, {"rules": None}])
async def test_a_tenant_does_not_change_the_ingress_of_an_instance(
    change: dict[str, object], tenant: KubeClient, scene: str
) -> None:
    """Taking our class away is a change of an Ingress of our class."""
    defaults = {"defaultBackend": {"service": {"name": "thief", "port": {"number": 80}}}}
    attempt = patching("", kinds.INGRESS, tenants.CHILD, {"spec": defaults | change})

    await assert_refused_by("(ingresses|children)", attempt, tenant, scene)


@pytest.mark.parametrize("attempt", PORTS, ids=str)
async def test_the_port_name_that_the_edge_looks_for_is_reserved(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """A Service that a tenant puts in the place of a deleted one is not found by the edge."""
    await assert_refused_by("service-ports", attempt, tenant, scene)
    await attempt.send(client, scene)
