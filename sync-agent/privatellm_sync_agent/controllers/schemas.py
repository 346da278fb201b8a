"""Publish schemas: create what is missing, mend our marks, never change or delete one."""

from privatellm.errors import AlreadyExistsError
from privatellm.kube import KubeClient, Manifest
from privatellm_sync_agent.objects.ownership import AGENT
from privatellm_sync_agent.projection.schemas import API_RESOURCE_SCHEMA


async def ensure_schema(kcp: KubeClient, schema: Manifest) -> None:
    """Make a schema exist; its name is a digest of its content, so an existing one is the same."""
    name = schema["metadata"]["name"]
    current = await kcp.get(API_RESOURCE_SCHEMA, name)
    if current is None:
        try:
            await kcp.create(API_RESOURCE_SCHEMA, schema)
        except AlreadyExistsError:
            return  # Another replica was faster with the same content.
        return
    wanted = schema["metadata"]["labels"][AGENT]
    metadata = current["metadata"]
    marks = {key: (metadata.get(key) or {}).get(AGENT) for key in ("labels", "annotations")}
    if set(marks.values()) != {wanted}:
        body = {"metadata": {key: {AGENT: wanted} for key in marks}}
        await kcp.patch(API_RESOURCE_SCHEMA, name, None, body)
