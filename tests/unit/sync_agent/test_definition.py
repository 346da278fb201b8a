"""The definition of PublishedResource: generated from the types, so nothing can be pruned unnoticed."""

from typing import Any

from privatellm_sync_agent.published.definition import published_resource_definition

UPSTREAM_FIELDS = """
resource.apiGroup resource.kind resource.version resource.versions filter.namespace filter.resource
naming.name naming.namespace enableWorkspacePaths projection.group projection.version
projection.versions projection.scope projection.kind projection.plural projection.shortNames
projection.categories mutation.spec mutation.status related synchronization.enabled
"""
RELATED_FIELDS = """
identifier origin group version resource kind identityHash cleanup projection.group projection.version
projection.resource object.reference object.selector object.template object.namespace mutation.spec
mutation.status watch.byOwner watch.bySelector syncStatus
"""


def walk(schema: dict[str, Any], path: str) -> dict[str, Any]:
    for part in path.split("."):
        schema = schema["properties"][part]
    return schema


def schema() -> dict[str, Any]:
    [version] = published_resource_definition()["spec"]["versions"]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def test_every_field_of_upstream_is_in_the_definition() -> None:
    """helm-charts#233: an outdated definition prunes new fields silently."""
    spec = schema()["properties"]["spec"]
    for path in UPSTREAM_FIELDS.split():
        assert walk(spec, path)
    related = spec["properties"]["related"]["items"]
    for path in RELATED_FIELDS.split():
        assert walk(related, path)


def test_the_status_keeps_conditions() -> None:
    """Upstream's definition prunes them."""
    conditions = walk(schema(), "status.conditions")
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]


def test_nothing_is_filled_in() -> None:
    """An absent field means what the agent says it means, and a null default would be refused."""
    assert "'default'" not in str(schema())
