"""What all our API types share: camelCase on the wire, frozen in memory, metadata, times.

Unknown fields are ignored when an object is read, because the API server prunes them already and an
object may come from a newer version of its CRD during a rollback.
"""

from datetime import UTC, datetime
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from privatellm.errors import InvalidObjectError
from privatellm.kube.kinds import Kind


class ApiModel(BaseModel):
    """A frozen value with camelCase names on the wire."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore"
    )

    def to_kubernetes(self) -> dict[str, Any]:
        """Return the JSON form with camelCase keys and without absent values."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class OwnerReference(ApiModel):
    """The part of an ownerReference that tells whose child an object is."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False


class ObjectMeta(ApiModel):
    """The metadata fields that we read."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def is_deleting(self) -> bool:
        """Whether somebody asked for the deletion of the object."""
        return self.deletion_timestamp is not None


class ApiObject(ApiModel):
    """An object that the API server stores, and what its definition says beside the schema."""

    KIND: ClassVar[Kind]
    SHORT_NAMES: ClassVar[tuple[str, ...]] = ()
    """What kubectl also takes for the plural."""

    COLUMNS: ClassVar[tuple[dict[str, Any], ...]] = ()
    """The columns of ``kubectl get``."""

    SCALE: ClassVar[dict[str, str] | None] = None
    """The paths of the scale subresource, for kinds that have one."""

    metadata: ObjectMeta

    @classmethod
    def parse(cls, manifest: dict[str, Any]) -> Self:
        """Read an object at the border, once.

        Raises:
            InvalidObjectError: naming each field that does not fit and why.
        """
        try:
            return cls.model_validate(manifest)
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False)
            )
            name = (manifest.get("metadata") or {}).get("name", "?")
            raise InvalidObjectError(
                f"{cls.KIND.name} {name} breaks its schema: {faults}."
            ) from error


def parse_time(text: str | None) -> datetime | None:
    """Return the aware time that a text of RFC 3339 says; ``None`` when it says none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def format_time(moment: datetime) -> str:
    """Return a time as Kubernetes writes it: RFC 3339 in UTC with whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
