"""Looking at pods, Deployments and Services of the host node's tests, and waiting for them."""

from typing import Any

import node_program
from eventually import eventually
from privatellm.kube import KubeClient, Manifest, kinds


async def pod_of(client: KubeClient, namespace: str, name: str) -> Manifest:
    """Return a pod that must exist."""
    found = await client.get(kinds.POD, name, namespace)
    assert found is not None
    return found


def container_status(pod: Manifest) -> dict[str, Any]:
    """Return the status of a pod's only container."""
    statuses = pod.get("status", {}).get("containerStatuses", [])
    assert statuses, pod.get("status")
    status: dict[str, Any] = statuses[0]
    return status


def is_ready(pod: Manifest) -> bool:
    """Say whether the pod's Ready condition holds."""
    conditions = pod.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def gone(client: KubeClient, namespace: str, name: str) -> None:
    """Wait until a pod is no more."""

    async def look() -> bool:
        return await client.get(kinds.POD, name, namespace) is None

    await eventually(look, what=f"the end of pod {name}")


async def ready(client: KubeClient, namespace: str, name: str) -> Manifest:
    """Wait until a pod is ready and return it."""

    async def look() -> Manifest | None:
        pod = await pod_of(client, namespace, name)
        return pod if is_ready(pod) else None

    found = await eventually(look, what=f"ready pod {name}")
    assert found is not None
    return found


async def terminated(client: KubeClient, namespace: str, name: str) -> dict[str, Any]:
    """Wait until a pod's container has ended for good and say how."""

    async def look() -> dict[str, Any] | None:
        status = container_status(await pod_of(client, namespace, name))
        ended: dict[str, Any] | None = status["state"].get("terminated")
        return ended

    found = await eventually(look, what=f"the end of pod {name}'s container")
    assert found is not None
    return found


async def available(client: KubeClient, namespace: str, name: str, replicas: int) -> None:
    """Wait until a Deployment has exactly so many available replicas of its present template."""

    async def look() -> bool:
        deployment = await client.get(kinds.DEPLOYMENT, name, namespace)
        assert deployment is not None
        status = deployment.get("status", {})
        current = status.get("observedGeneration") == deployment["metadata"]["generation"]
        counts = {
            status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")
        }
        return current and counts == {replicas}

    await eventually(look, within=40, what=f"{replicas} available replicas of {name}")


async def url_of(client: KubeClient, namespace: str, service: str) -> str:
    """Return the URL of a Service's cluster IP."""
    found = await client.get(kinds.SERVICE, service, namespace)
    assert found is not None
    return f"http://{found['spec']['clusterIP']}:{node_program.PORT}"
