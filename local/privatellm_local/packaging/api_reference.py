"""``docs/reference/api.md``: every field of our kinds, from the definitions that a cluster gets.

It reads the CRDs and not the types, so the page says what the API server enforces. Descriptions are the
ones that ``kubectl explain`` shows.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from privatellm.api import crds
from privatellm.api.meta import ApiObject
from privatellm.api.schemas import Schema

_HEADER = """\
# The API

Generated from the types in `operator/privatellm/api/` by `make crds`; a test compares. The group is
`llm.privatellms.msp`, the version `v1alpha1`. `kubectl get privatellms` lists objects of all three kinds
in a namespace, and `kubectl explain llminstance.spec` shows the same texts as this page.

A field that is not here does not exist: the API server drops it, and warns when asked to validate.
Conditions have the fields of Kubernetes' own (`type`, `status`, `reason`, `message`, `observedGeneration`,
`lastTransitionTime`); [Conditions and their reasons](conditions.md) lists what they can say.
"""

_ROW = "| field | type | default | rules | what it is for |\n|---|---|---|---|---|\n"
_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "{} or more characters",
    "maxLength": "at most {} characters",
    "pattern": "`{}`",
}
_RULES = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Field:
    """One field with the path that leads to it."""

    path: str
    schema: Schema
    is_required: bool


def api_page() -> str:
    """Return the page."""
    return _HEADER + "".join(_section(model) for model in crds.OBJECT_TYPES)


def fields(schema: Schema, path: str) -> Iterator[Field]:
    """Yield every field below a schema, parents before their children.

    Args:
        schema: Of an object.
        path: What leads to that object, such as ``spec``.
    """
    required = schema.get("required", ())
    for name, child in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield Field(here, child, name in required)
        items = child.get("items", {})
        if name != "conditions":
            yield from fields(items, f"{here}[]") if items else fields(child, here)


def _section(model: type[ApiObject]) -> str:
    crd = crds.crd_of(model)
    (version,) = crd["spec"]["versions"]
    parts = version["schema"]["openAPIV3Schema"]["properties"]
    return "\n".join(
        (
            f"\n## {crd['spec']['names']['kind']}\n",
            f"{_sentence(model)}\n",
            *(f"- {fact}" for fact in _facts(crd["spec"], version)),
            "",
            *(_fields_of(part, parts[part]) for part in ("spec", "status")),
        )
    )


def _sentence(model: type[ApiObject]) -> str:
    return (model.__doc__ or "").partition("\n")[0]


def _facts(spec: dict[str, Any], version: dict[str, Any]) -> Iterator[str]:
    names = spec["names"]
    where = "In a namespace" if spec["scope"] == "Namespaced" else "Cluster-wide"
    yield f"{where}; plural `{names['plural']}`, short name `{'`, `'.join(names['shortNames'])}`."
    columns = ", ".join(column["name"] for column in version["additionalPrinterColumns"])
    yield f"Columns of `kubectl get`: {columns}."
    if "scale" in version["subresources"]:
        yield "`kubectl scale` and autoscalers work on it."


def _fields_of(part: str, schema: Schema) -> str:
    all_fields = list(fields(schema, part))
    rows = "".join(f"{_row(field)}\n" for field in all_fields)
    rules = list(_rules(Field(part, schema, is_required=False)))
    rules += [rule for field in all_fields for rule in _rules(field)]
    heading = "\nRules beyond single fields:\n\n" if rules else ""
    return f"### `{part}`\n\n{_ROW}{rows}{heading}" + "".join(f"- {rule}\n" for rule in rules)


def _row(field: Field) -> str:
    schema = field.schema
    default = f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
    cells = (
        f"`{field.path}`",
        _type(schema),
        default,
        "; ".join(_bounds(field)),
        " ".join(schema.get("description", "").split()),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}"
    return str(schema["type"])


def _bounds(field: Field) -> Iterator[str]:
    if field.is_required:
        yield "required"
    for key, words in _BOUNDS.items():
        if key in field.schema:
            yield words.format(field.schema[key])


def _rules(field: Field) -> Iterator[str]:
    for rule in field.schema.get(_RULES, ()):
        yield f"`{field.path}`: {rule['message']}."
