"""Names that join to the same text: nobody's middleware stands in for one of the operator's.

With Traefik's older naming, namespace and name are joined by a dash, so that the middleware
``system-private-llm-auth`` of the namespace ``private-llm`` is called like ours. Admission policies keep
customers from making any; here an administrator made two, and the edge itself has to tell them apart.
"""

import secrets
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from edge_route import MIDDLEWARES, PORT, Route
from eventually import eventually
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_local.platform.facts import SYSTEM_NAMESPACE
from privatellm_operator.render.middlewares import PREFIX

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

NAMESPACE = "private-llm"
MARK = "X-Look-Alike"
OURS = (PREFIX, f"{PREFIX}-auth")
"""The chain and the check."""


def look_alike(ours: str) -> Manifest:
    """Return a middleware that marks what passes and checks nothing."""
    joined = f"{SYSTEM_NAMESPACE}-{ours}"
    return {
        "apiVersion": kinds.MIDDLEWARE.api_version,
        "kind": kinds.MIDDLEWARE.name,
        "metadata": {"name": joined.removeprefix(f"{NAMESPACE}-"), "namespace": NAMESPACE},
        "spec": {"headers": {"customRequestHeaders": {MARK: ours}}},
    }


def way_through(middleware: Manifest, namespace: str, service: Manifest) -> Manifest:
    """Return an Ingress to the recorder whose requests pass a look-alike, by its unambiguous name."""
    metadata = middleware["metadata"]
    named = f"{metadata['namespace']}_{metadata['name']}@kubernetescrd"
    backend = {"service": {"name": service["metadata"]["name"], "port": {"number": PORT}}}
    path = {"path": f"/{metadata['name']}", "pathType": "Prefix", "backend": backend}
    return {
        "apiVersion": kinds.INGRESS.api_version,
        "kind": kinds.INGRESS.name,
        "metadata": {
            "name": f"way-{secrets.token_hex(4)}",
            "namespace": namespace,
            "annotations": {MIDDLEWARES: named},
        },
        "spec": {"ingressClassName": "traefik", "rules": [{"http": {"paths": [path]}}]},
    }


@pytest_asyncio.fixture(loop_scope="module")
async def look_alikes(
    edge_client: KubeClient, edge_namespace: str, route: Route
) -> AsyncIterator[None]:
    """Two of them, of which Traefik knows."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await edge_client.create(kinds.NAMESPACE, manifest)
    service = await edge_client.get(kinds.SERVICE, "attacked-recorder", edge_namespace)
    assert service is not None
    for ours in OURS:
        made = await edge_client.create(kinds.MIDDLEWARE, look_alike(ours))
        way = way_through(made, edge_namespace, service)
        await edge_client.create(kinds.INGRESS, way)

        async def known(ours: str = ours, target: str = f"/{made['metadata']['name']}") -> bool:
            route.recorder.requests.clear()
            await route.say_unsigned(target=target)
            return [seen.values(MARK) for seen in route.recorder.requests] == [[ours]]

        await eventually(known, what=f"the look-alike of {ours}")
    route.recorder.requests.clear()
    yield
    await edge_client.delete(kinds.NAMESPACE, NAMESPACE)


@pytest.mark.usefixtures("look_alikes")
async def test_a_middleware_whose_name_joins_like_ours_shadows_nothing(route: Route) -> None:
    """The check is asked as before, and nothing else happens to a request."""
    assert (await route.say_unsigned()).status == 401
    assert route.recorder.requests == []

    assert (await route.say()).status == 200

    (seen,) = route.recorder.requests
    assert seen.values(MARK) == []
