"""What the chart's values are made of: groups that refuse unknown keys, and texts with a form."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$")]
OptionalName = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?)?$")]
Namespace = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
OptionalNamespace = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$")]
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
FilledLine = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$")]
Host = Annotated[str, Field(pattern=r"^(([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?)?$")]
Url = Annotated[str, Field(pattern=r"^(https?://[^\s,]+)?$")]
Address = Annotated[str, Field(pattern=r"^[0-9A-Fa-f.:]*$")]
Percentage = Annotated[str, Field(pattern=r"^[0-9]{1,3}%$")]
Duration = Annotated[str, Field(pattern=r"^([0-9]+(h|m|s))*$")]
Texts = Annotated[dict[str, str], Field(default_factory=dict)]
Count = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=1, le=65535)]


class Group(BaseModel):
    """Values that belong together; an unknown one is refused."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )


class Member(Group):
    """Values of which a list or a map holds any number; there are no defaults below them."""


class Reference(Member):
    """A name of another object."""

    name: FilledLine
    """Its name."""


class Switch(Group):
    """Something that can be left out."""

    enabled: bool = True
    """Render it."""
