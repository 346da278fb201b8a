"""Related resources: objects that travel with the published one, such as the Secret with a key."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from privatellm_sync_agent.objects.selectors import LabelSelector, Requirement
from privatellm_sync_agent.published.model import SpecModel
from privatellm_sync_agent.published.mutations import Mutations

_LEGACY_KINDS = {"ConfigMap": "configmaps", "Secret": "secrets"}


class Origin(StrEnum):
    """The side on which the original of a related object lives."""

    SERVICE = "service"
    KCP = "kcp"


class RegularExpression(SpecModel):
    """A replacement in Go's syntax; without a pattern the whole value is replaced."""

    pattern: str = ""
    replacement: str = ""


class TemplateExpression(SpecModel):
    """A Go template."""

    template: str = ""


class Reference(SpecModel):
    """A path in the primary object at which a name, or a list of names, stands."""

    path: str
    regex: RegularExpression | None = None


class Rewrite(SpecModel):
    """How the name of a selected original becomes the name of its copy: exactly one of both."""

    regex: RegularExpression | None = None
    template: TemplateExpression | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.regex is None) == (self.template is None):
            raise ValueError("rewrite is exactly one of regex and template")
        return self


class Selector(SpecModel):
    """Originals by their labels; keys and values of ``matchLabels`` may be templates."""

    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()
    rewrite: Rewrite


class ObjectRule(SpecModel):
    """How names are found: exactly one of the three."""

    reference: Reference | None = None
    selector: Selector | None = None
    template: TemplateExpression | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        chosen = [rule for rule in (self.reference, self.selector, self.template) if rule]
        if len(chosen) != 1:
            raise ValueError(
                f"exactly one of reference, selector and template is needed; got {len(chosen)}"
            )
        return self


class RelatedObject(ObjectRule):
    """The names of related objects, and their namespaces when those are not the primary's."""

    namespace: ObjectRule | None = None


class RelatedProjection(SpecModel):
    """What the kind is called on the destination's side."""

    group: str | None = None
    version: str | None = None
    resource: str | None = None


class ByOwner(SpecModel):
    """Changes are noticed through the ownerReference to the primary."""


class Watch(SpecModel):
    """How a change of a related object leads back to its primary: exactly one of both."""

    by_owner: ByOwner | None = None
    by_selector: LabelSelector | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.by_owner is None) == (self.by_selector is None):
            raise ValueError("watch is exactly one of byOwner and bySelector")
        return self


class RelatedResource(SpecModel):
    """One kind of related object and how its instances are found."""

    identifier: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$", max_length=63)
    ]
    origin: Origin
    group: str = ""
    version: str = ""
    resource: str = ""
    kind: str = ""
    identity_hash: str = ""
    cleanup: bool = False
    projection: RelatedProjection | None = None
    object: RelatedObject
    mutation: Mutations = Mutations()
    watch: Watch | None = None
    sync_status: bool = False

    @model_validator(mode="after")
    def _one_way_to_name_the_kind(self) -> Self:
        if bool(self.kind) == bool(self.resource):
            raise ValueError(
                "a related resource is named either by kind or by version and resource"
            )
        if bool(self.version) != bool(self.resource):
            raise ValueError("version and resource of a related resource come together")
        if self.kind and (self.group or self.kind not in _LEGACY_KINDS):
            raise ValueError(
                "kind can be ConfigMap or Secret only; use group, version and resource"
            )
        if self.identity_hash and not self.resource:
            raise ValueError("identityHash needs group, version and resource")
        if self.sync_status and self.origin is Origin.SERVICE and self.watch is None:
            raise ValueError(
                "syncStatus of an object that lives in the service cluster needs watch"
            )
        return self

    @property
    def origin_resource(self) -> tuple[str, str, str]:
        """Group, version and resource where the original lives."""
        if self.kind:
            return "", "v1", _LEGACY_KINDS[self.kind]
        return self.group, self.version, self.resource

    @property
    def destination_resource(self) -> tuple[str, str, str]:
        """Group, version and resource where the copy lives."""
        group, version, resource = self.origin_resource
        change = self.projection or RelatedProjection()
        return (
            group if change.group is None else change.group,
            change.version or version,
            change.resource or resource,
        )

    @property
    def kcp_resource(self) -> tuple[str, str, str]:
        """Group, version and resource in the workspaces: what a permission claim must name."""
        return self.origin_resource if self.origin is Origin.KCP else self.destination_resource
