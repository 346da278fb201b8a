"""The generated definitions: structural, complete, and the ones that are shipped."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import BaseModel

from privatellm.api.crds import OBJECT_TYPES, all_crds, as_yaml, crd_of, write_all
from privatellm.api.schemas import structural_schema

SHIPPED = Path(__file__).parents[3] / "charts/private-llm-operator/files/crds"
IDS = [model.KIND.plural for model in OBJECT_TYPES]
EVERY_KIND = pytest.mark.parametrize("model", OBJECT_TYPES, ids=IDS)


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a definition's only version."""
    (version,) = crd["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema inside a schema."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from nodes(schema[keyword], f"{path}[]")


@EVERY_KIND
def test_the_shipped_definition_is_the_generated_one(model: Any) -> None:
    """``make crds`` writes it."""
    file = SHIPPED / f"{model.KIND.plural}.yaml"

    assert file.read_text() == as_yaml(crd_of(model))


def test_all_definitions_are_written(tmp_path: Path) -> None:
    write_all(tmp_path / "crds")

    written = {
        file.name: yaml.safe_load(file.read_text()) for file in (tmp_path / "crds").iterdir()
    }
    assert written == {f"{crd['spec']['names']['plural']}.yaml": crd for crd in all_crds()}


@EVERY_KIND
def test_every_node_of_a_schema_has_a_type_and_no_reference(model: Any) -> None:
    for path, node in nodes(schema_of(crd_of(model))):
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert not {"$ref", "$defs", "title", "allOf", "oneOf"} & set(node), path


@EVERY_KIND
def test_every_field_that_people_meet_is_explained(model: Any) -> None:
    schema = schema_of(crd_of(model))

    for part in ("spec", "status"):
        for name, field in schema["properties"][part]["properties"].items():
            assert field.get("description"), f"{model.KIND.name}.{part}.{name}"


@EVERY_KIND
def test_status_is_a_subresource_and_uninstalling_keeps_the_objects(model: Any) -> None:
    crd = crd_of(model)

    assert "status" in crd["spec"]["versions"][0]["subresources"]
    assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


@EVERY_KIND
def test_the_status_may_be_absent_but_never_required(model: Any) -> None:
    assert "status" not in schema_of(crd_of(model)).get("required", [])


@EVERY_KIND
def test_conditions_are_a_map_by_type(model: Any) -> None:
    status = schema_of(crd_of(model))["properties"]["status"]["properties"]

    if "conditions" in status:
        assert status["conditions"]["x-kubernetes-list-map-keys"] == ["type"]


def test_an_order_without_a_spec_gets_the_defaults() -> None:
    spec = schema_of(crd_of(OBJECT_TYPES[0]))["properties"]["spec"]

    assert spec["default"] == {}
    assert spec["properties"]["replicas"]["default"] == 1
    assert spec["properties"]["model"]["default"] == "tinyllama"


class Nested(BaseModel):
    """A type inside another one."""

    size: int | str


class Holder(BaseModel):
    """A type with every shape that is allowed."""

    nested: Nested | None = None
    many: list[Nested] = []
    labels: dict[str, str] = {}
    flag: bool = False


def test_references_and_optional_values_are_resolved() -> None:
    properties = structural_schema(Holder)["properties"]

    quantity = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }
    assert properties["nested"]["properties"]["size"] == quantity
    assert properties["many"]["items"]["properties"]["size"] == quantity
    assert properties["labels"]["additionalProperties"] == {"type": "string"}
    assert properties["flag"] == {"type": "boolean", "default": False}


class FloatOrText(BaseModel):
    """A union that a structural schema does not know."""

    value: float | str


class Anything(BaseModel):
    """A field without a type."""

    value: Any


class Mixed(BaseModel):
    """An enumeration of several types."""

    value: Literal["a", 1]


@pytest.mark.parametrize("model", [FloatOrText, Anything, Mixed])
def test_a_shape_that_a_structural_schema_cannot_say_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(TypeError, match="structural schema"):
        structural_schema(model)
