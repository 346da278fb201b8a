"""From a Pydantic type to the structural OpenAPI schema that a CRD wants.

Pydantic writes JSON Schema with references, titles and nullable unions; a structural schema allows none
of these. The translation is pure and total for the shapes our types use; anything else raises, so that a
new shape is noticed when it is written and not when a cluster refuses the CRD.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_KEPT = (
    "type",
    "description",
    "enum",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "required",
    "x-kubernetes-validations",
)


def structural_schema(model: type[BaseModel]) -> Schema:
    """Return the structural schema of a type, with every reference resolved.

    Raises:
        TypeError: when the type uses a shape that a structural schema cannot say.
    """
    whole = model.model_json_schema(by_alias=True, mode="validation")
    return _translate(whole, whole.get("$defs", {}))


def _translate(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    flat = _resolved(schema, definitions)
    if "anyOf" in flat:
        return _union(flat)
    translated: Schema = {key: flat[key] for key in _KEPT if key in flat}
    if "description" in translated:
        # Docstrings mark code twice; `kubectl explain` shows the text as it is.
        translated["description"] = translated["description"].replace("``", "`")
    if flat.get("default") not in (None, "", [], {}):
        translated["default"] = flat["default"]
    if "properties" in flat:
        translated["properties"] = {
            name: _translate(child, definitions) for name, child in flat["properties"].items()
        }
    if "items" in flat:
        translated["items"] = _translate(flat["items"], definitions)
    if isinstance(flat.get("additionalProperties"), Mapping):
        translated["additionalProperties"] = _translate(flat["additionalProperties"], definitions)
    if "type" not in translated:
        raise TypeError(f"A structural schema needs a type everywhere; got {dict(schema)}.")
    return _as_list_map(translated)


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Follow a reference or an optional union; what stands beside the reference wins."""
    own = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "allOf")}
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return {**_resolved(definitions[name], definitions), **own}
    variants = [v for v in schema.get("anyOf", ()) if v.get("type") != "null"]
    if len(variants) == 1:
        return {**_resolved(variants[0], definitions), **own}
    return {**own, "anyOf": variants} if variants else own


def _union(flat: Schema) -> Schema:
    """Only the union of integer and string exists in structural schemas: quantities."""
    types = [variant.get("type") for variant in flat["anyOf"]]
    if sorted(map(str, types)) != ["integer", "string"]:
        raise TypeError(f"A structural schema has no union of {types}.")
    return {"anyOf": [{"type": t} for t in types], "x-kubernetes-int-or-string": True}


def _as_list_map(schema: Schema) -> Schema:
    """Mark lists of conditions as maps by type, so that two managers can own one condition each."""
    items = schema.get("items", {})
    if "lastTransitionTime" in items.get("properties", {}):
        return schema | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return schema
