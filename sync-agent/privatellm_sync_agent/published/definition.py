"""The CustomResourceDefinition of PublishedResource, generated from the types that read it.

So no field can be pruned that the agent understands. It has upstream's name, group, version and scope and
takes the place of upstream's definition; it adds ``status.conditions``, which upstream prunes.
"""

from typing import Any

from privatellm.api.schemas import structural_schema
from privatellm.conditions import Condition
from privatellm.kube import Manifest
from privatellm_sync_agent.published.spec import PUBLISHED_RESOURCE, PublishedResourceSpec


def published_resource_definition() -> Manifest:
    """Return the definition."""
    kind = PUBLISHED_RESOURCE
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "annotations": {"helm.sh/resource-policy": "keep"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
            },
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": PUBLISHED_RESOURCE.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Kind", "type": "string", "jsonPath": ".spec.resource.kind"},
            {
                "name": "Accepted",
                "type": "string",
                "jsonPath": '.status.conditions[?(@.type=="Accepted")].status',
            },
            {"name": "Schema", "type": "string", "jsonPath": ".status.resourceSchemaName"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "schema": {"openAPIV3Schema": _schema()},
    }


def _schema() -> dict[str, Any]:
    condition = _without_defaults(structural_schema(Condition))
    conditions = {
        "type": "array",
        "items": condition,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    return {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _without_defaults(structural_schema(PublishedResourceSpec)),
            "status": {
                "type": "object",
                "properties": {"resourceSchemaName": {"type": "string"}, "conditions": conditions},
            },
        },
    }


def _without_defaults(schema: Any) -> Any:
    """Return a schema that fills nothing in: an absent field means what the agent says it means."""
    if isinstance(schema, list):
        return [_without_defaults(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_defaults(value) for key, value in schema.items() if key != "default"}
