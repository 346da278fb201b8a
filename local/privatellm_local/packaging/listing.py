"""The values one by one: what ``values.yaml`` and the reference page are written from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from privatellm_local.packaging.chart import OPERATOR, Chart


@dataclass(frozen=True, slots=True)
class Entry:
    """One value, or a group of values.

    Attributes:
        path: Names from the top, such as ``("traefik", "enabled")``.
        text: What it is for, in sentences.
        default: Its default, as JSON; ``None`` for a group with members.
        members: The group's members; empty for a value.
    """

    path: tuple[str, ...]
    text: str
    default: Any
    members: tuple["Entry", ...] = ()

    @property
    def leaves(self) -> Iterator["Entry"]:
        """Every value below this entry, itself included."""
        if not self.members:
            yield self
        for member in self.members:
            yield from member.leaves


def entries(chart: Chart = OPERATOR) -> tuple[Entry, ...]:
    """Return every value of a chart in the order of the types."""
    return _members(chart.values(), ())


def _members(group: BaseModel, path: tuple[str, ...]) -> tuple[Entry, ...]:
    fields = type(group).model_fields
    return tuple(_entry(getattr(group, name), field, path) for name, field in fields.items())


def _entry(value: Any, field: FieldInfo, path: tuple[str, ...]) -> Entry:
    own = (*path, str(field.alias))
    text = " ".join((field.description or "").split())
    if isinstance(value, BaseModel):
        return Entry(own, text, None, _members(value, own))
    return Entry(own, text, _plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
