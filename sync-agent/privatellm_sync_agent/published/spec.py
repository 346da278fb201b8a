"""The spec of a PublishedResource, with every field upstream knows, deprecated ones included."""

from enum import StrEnum
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from privatellm.errors import InvalidObjectError
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.naming.names import NamingRule
from privatellm_sync_agent.objects.selectors import LabelSelector
from privatellm_sync_agent.published.model import SpecModel
from privatellm_sync_agent.published.mutations import Mutations
from privatellm_sync_agent.published.related import RelatedResource

PUBLISHED_RESOURCE = Kind(
    "syncagent.kcp.io", "v1alpha1", "PublishedResource", "publishedresources", namespaced=False
)


GroupKind = tuple[str, str]
"""Group and kind, which stay when versions come and go."""


class Scope(StrEnum):
    """Whether objects live in namespaces."""

    CLUSTER = "Cluster"
    NAMESPACED = "Namespaced"


class SourceResource(SpecModel):
    """The kind in the service cluster."""

    api_group: str
    kind: str
    version: str = ""
    versions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_way_to_choose_versions(self) -> Self:
        if self.version and self.versions:
            raise ValueError("version and versions exclude each other; use versions")
        return self

    @property
    def chosen_versions(self) -> tuple[str, ...]:
        """The versions to publish; empty means all of them."""
        return (self.version,) if self.version else self.versions


class Filter(SpecModel):
    """Which objects of the workspaces are synced: by labels of their namespace and their own."""

    namespace: LabelSelector | None = None
    resource: LabelSelector | None = None


class Naming(SpecModel):
    """Patterns for the local copies' namespace and name."""

    name: str = ""
    namespace: str = ""

    @property
    def rule(self) -> NamingRule:
        """The patterns, ready to be rendered."""
        return NamingRule(self.namespace, self.name)


class Projection(SpecModel):
    """What the API looks like in kcp; ``None`` keeps short names and categories, empty clears them."""

    group: str = ""
    version: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    scope: Scope | None = None
    kind: str = ""
    plural: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _one_way_to_rename_versions(self) -> Self:
        if self.version and self.versions:
            raise ValueError("projection.version and projection.versions exclude each other")
        return self


class Synchronization(SpecModel):
    """Whether objects are synced; without it only the schema is published."""

    enabled: bool = False


class PublishedResourceSpec(SpecModel):
    """What is published and how it travels."""

    resource: SourceResource
    filter: Filter = Filter()
    naming: Naming = Naming()
    enable_workspace_paths: bool = False
    projection: Projection = Projection()
    mutation: Mutations = Mutations()
    related: tuple[RelatedResource, ...] = Field(default=())
    synchronization: Synchronization = Synchronization(enabled=True)

    @model_validator(mode="after")
    def _identifiers_are_unique(self) -> Self:
        identifiers = [related.identifier for related in self.related]
        if len(set(identifiers)) != len(identifiers):
            raise ValueError("identifiers of related resources must be unique")
        return self


def copied_kind(manifest: dict[str, Any]) -> GroupKind | None:
    """Return the kind of the service cluster that copies are made of, whether or not the rest can be used.

    A kind that is published without being synced has no copies: its objects are the provider's own.
    """
    spec = manifest.get("spec") or {}
    resource, synchronization = spec.get("resource") or {}, spec.get("synchronization")
    if synchronization is not None and not synchronization.get("enabled"):
        return None
    return str(resource.get("apiGroup", "")), str(resource.get("kind", ""))


def parse(manifest: dict[str, Any]) -> PublishedResourceSpec:
    """Read a PublishedResource at the border, once.

    Raises:
        InvalidObjectError: naming every field that is unknown or breaks a rule.
    """
    spec = {key: value for key, value in (manifest.get("spec") or {}).items() if value is not None}
    try:
        return PublishedResourceSpec.model_validate(spec)
    except ValidationError as error:
        faults = "; ".join(
            f"spec.{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        name = manifest["metadata"]["name"]
        raise InvalidObjectError(f"PublishedResource {name} cannot be used: {faults}.") from error
