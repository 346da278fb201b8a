"""``docs/reference/operator-settings.md``: the operator's environment, group by group."""

import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from privatellm_operator.reference.docstrings import attribute_texts, in_markdown
from privatellm_operator.settings import GROUPS, NodeClass

_HEADER = """\
# The operator's settings

Generated from `operator/privatellm_operator/settings.py` by `make crds`; a test compares. The operator
reads its environment once, when it starts, and refuses to start with the name of each variable that breaks
its rule. The chart's values set them; [Values of the chart](chart-values.md) says which value is which.
"""

_COLUMNS = "| variable | type | default | what it is for |\n|---|---|---|---|\n"

_NAMES = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true` or `false`",
    Path: "path",
}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most"}


def settings_page() -> str:
    """Return the page."""
    sections = "".join(_section(group) for group in GROUPS)
    return f"{_HEADER}{sections}{_node_class()}"


def variables() -> Iterator[str]:
    """Yield the name of every variable."""
    for group in GROUPS:
        yield from (_variable(group, name) for name in group.model_fields)


def _section(group: type[BaseSettings]) -> str:
    texts = attribute_texts(group)
    rows = "".join(
        f"| `{_variable(group, name)}` | {_type(field)} | {_default(field)} |"
        f" {in_markdown(texts[name])} |\n"
        for name, field in group.model_fields.items()
    )
    return f"\n## {_title(group)}\n\n{_COLUMNS}{rows}"


def _node_class() -> str:
    texts = attribute_texts(NodeClass)
    rows = "".join(
        f"| `{field.alias}` | {in_markdown(texts[name])} |\n"
        for name, field in NodeClass.model_fields.items()
    )
    return (
        "\n## A node class\n\nThe values of `PRIVATE_LLM_NODE_CLASSES` are objects with these fields.\n\n"
        f"| field | what it is for |\n|---|---|\n{rows}"
    )


def _title(group: type[BaseSettings]) -> str:
    return in_markdown((group.__doc__ or "").partition("\n")[0]).rstrip(".")


def _variable(group: type[BaseSettings], name: str) -> str:
    return f"{group.model_config.get('env_prefix', '')}{name}".upper()


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, Enum):
        default = default.value
    if isinstance(default, tuple):
        default = ",".join(default)
    if default in (None, "", {}):
        return ""
    return f"`{default if isinstance(default, str | Path) else json.dumps(default)}`"


def _type(field: FieldInfo) -> str:
    bounds = [text for each in field.metadata if (text := _bound(each))]
    return ", ".join([_name(field.annotation), *bounds])


def _name(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        (present,) = (each for each in get_args(annotation) if each is not NoneType)
        return _name(present)
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in get_args(annotation))
    if origin is tuple:
        return "words with commas between them"
    if origin is dict:
        return "JSON object"
    if issubclass(annotation, Enum):
        return " or ".join(f"`{each.value}`" for each in annotation)
    return _NAMES[annotation]


def _bound(constraint: object) -> str:
    """Return the words for one of pydantic's constraints; empty for what is none."""
    for attribute, words in _BOUNDS.items():
        limit = getattr(constraint, attribute, None)
        if limit is not None:
            return f"{words} {limit}"
    return ""
