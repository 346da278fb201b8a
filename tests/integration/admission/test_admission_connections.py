"""Nobody reaches into a model server past the edge."""

import pytest

import admission_tenants as tenants
from admission_attempts import Attempt, assert_refused_by, connecting
from eventually import eventually
from privatellm.errors import RejectedError, UnavailableError
from privatellm.kube import KubeClient, kinds

pytestmark = pytest.mark.integration

PORT_NAME = tenants.PORT["name"]


def to_pod(name: str) -> tuple[Attempt, ...]:
    """Return every way of reaching into a pod."""
    shell = {"command": "id", "container": "main", "stdout": "true"}
    return (
        connecting("exec", kinds.POD, name, "exec", **shell),
        connecting("exec by websocket", kinds.POD, name, "exec", method="GET", **shell),
        connecting("attach", kinds.POD, name, "attach", stdout="true"),
        connecting("port forward", kinds.POD, name, "portforward"),
        connecting("port forward by websocket", kinds.POD, name, "portforward", method="GET"),
        connecting("proxy", kinds.POD, name, "proxy", method="GET"),
        connecting("proxy to a port", kinds.POD, f"{name}:8000", "proxy", method="GET"),
        connecting("proxy with a scheme", kinds.POD, f"http:{name}:8000", "proxy", method="POST"),
    )


def to_service(name: str) -> tuple[Attempt, ...]:
    """Return every way of reaching a Service through the API server."""
    return (
        connecting("proxy", kinds.SERVICE, name, "proxy", method="GET"),
        connecting("proxy to a port", kinds.SERVICE, f"{name}:8000", "proxy", method="POST"),
        connecting("proxy to a named port", kinds.SERVICE, f"{name}:{PORT_NAME}", "proxy"),
        connecting("proxy with a scheme", kinds.SERVICE, f"https:{name}:8000", "proxy"),
    )


@pytest.mark.parametrize("attempt", to_pod(tenants.MODEL_POD), ids=str)
async def test_a_tenant_does_not_reach_into_a_model_server(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """Refused by the pod's labels, which the request itself does not carry."""

    async def refused() -> bool:
        await assert_refused_by("pod-connections", attempt, tenant, scene)
        return True

    # The API server reads the labelled pods from a cache that trails its store.
    await eventually(refused, within=5)
    await _reaches(attempt, client, scene)


@pytest.mark.parametrize("attempt", to_pod("my-llama-7d4b9c6f5d-x2k8q"), ids=str)
async def test_a_tenant_reaches_into_its_own_pods(
    attempt: Attempt, tenant: KubeClient, scene: str
) -> None:
    """A pod that is only named like a model server is the tenant's own."""
    await _reaches(attempt, tenant, scene)


@pytest.mark.parametrize("attempt", to_service(tenants.CHILD), ids=str)
async def test_a_tenant_does_not_proxy_to_the_service_of_an_instance(
    attempt: Attempt, client: KubeClient, tenant: KubeClient, scene: str
) -> None:
    """Whatever scheme or port the request names."""

    async def refused() -> bool:
        await assert_refused_by("service-connections", attempt, tenant, scene)
        return True

    await eventually(refused, within=5)
    await _reaches(attempt, client, scene)


@pytest.mark.parametrize("attempt", to_service("web"), ids=str)
async def test_a_tenant_proxies_to_its_own_services(
    attempt: Attempt, tenant: KubeClient, scene: str
) -> None:
    """Other Services of the namespace are open."""
    await _reaches(attempt, tenant, scene)


async def _reaches(attempt: Attempt, client: KubeClient, namespace: str) -> None:
    """Expect the failure that comes after admission: nothing runs behind the name."""
    with pytest.raises((RejectedError, UnavailableError)):
        await attempt.send(client, namespace)
