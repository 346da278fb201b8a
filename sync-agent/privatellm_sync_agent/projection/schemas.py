"""APIResourceSchemas: content-addressed, so an equal definition always leads to the same schema."""

import hashlib
import json
from typing import Any

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.objects.ownership import AGENT, SOURCE_GENERATION

API_RESOURCE_SCHEMA = Kind(
    "apis.kcp.io", "v1alpha1", "APIResourceSchema", "apiresourceschemas", namespaced=False
)

_VERSION_FIELDS = (
    "name",
    "served",
    "storage",
    "deprecated",
    "deprecationWarning",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
)
_NAME_DIGEST = 8


def schema_name(definition: dict[str, Any]) -> str:
    """Return the schema's name: ``v<digest>.<plural>.<group>``, as upstream builds it."""
    content = json.dumps(definition, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()[:_NAME_DIGEST]
    return f"v{digest}.{definition['names']['plural']}.{definition['group']}"


def schema_of(definition: dict[str, Any], agent: str, source_generation: int) -> Manifest:
    """Return the APIResourceSchema of a projected definition.

    Args:
        definition: What :func:`~privatellm_sync_agent.projection.definitions.projected` returned.
        agent: The agent that publishes it.
        source_generation: Generation of the definition, for the person who compares both.
    """
    spec: dict[str, Any] = {
        "group": definition["group"],
        "scope": definition["scope"],
        "names": definition["names"],
        "versions": [_version(version) for version in definition["versions"]],
    }
    if len(spec["versions"]) > 1:
        spec["conversion"] = {"strategy": "None"}
    return {
        "apiVersion": API_RESOURCE_SCHEMA.api_version,
        "kind": API_RESOURCE_SCHEMA.name,
        "metadata": {
            "name": schema_name(definition),
            "labels": {AGENT: agent},
            "annotations": {AGENT: agent, SOURCE_GENERATION: str(source_generation)},
        },
        "spec": spec,
    }


def _version(version: dict[str, Any]) -> dict[str, Any]:
    kept = {field: version[field] for field in _VERSION_FIELDS if field in version}
    return kept | {"schema": version["schema"]["openAPIV3Schema"]}
