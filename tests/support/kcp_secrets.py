"""Secrets beside copies, as a provider's controller makes them, and what reaches a workspace of them."""

from base64 import b64encode
from typing import Any

from eventually import eventually
from kcp_world import SECRET, Workspace, World
from privatellm.kube import Manifest


def encoded(**data: str) -> dict[str, str]:
    """Return data as Secrets hold it."""
    return {key: b64encode(value.encode()).decode() for key, value in data.items()}


def owner(copy: Manifest) -> dict[str, Any]:
    """Return the reference of what an object controls."""
    metadata = copy["metadata"]
    return {
        "apiVersion": copy["apiVersion"],
        "kind": copy["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


async def give_secret(
    world: World, copy: Manifest, name: str, *, owned: bool = True, **fields: Any
) -> Manifest:
    """Make a Secret beside a copy, as a controller of the provider does, and name it in the status."""
    namespace = copy["metadata"]["namespace"]
    references = {"ownerReferences": [owner(copy)]} if owned else {}
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "x"}} | references
    metadata["labels"] |= {"llm.privatellms.msp/internal": "1"}
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata} | fields
    made = await world.service.create(SECRET, manifest)
    body = {"status": {"secret": name}}
    await world.service.patch(
        world.kind, copy["metadata"]["name"], namespace, body, subresource="status"
    )
    return made


async def secret_of(
    workspace: Workspace, name: str, namespace: str = "default", **data: str
) -> Manifest:
    """Return a Secret in a workspace as soon as it holds exactly this."""

    async def look() -> Manifest | None:
        found = await workspace.client.get(SECRET, name, namespace)
        return found if found and found.get("data") == encoded(**data) else None

    found = await eventually(look, what=f"the Secret {name} with {data}")
    assert found is not None
    return found


async def no_secret(workspace: Workspace, name: str) -> None:
    """Wait until a workspace has no Secret of this name."""

    async def look() -> bool:
        return await workspace.client.get(SECRET, name, "default") is None

    await eventually(look, what=f"the end of the Secret {name}")
