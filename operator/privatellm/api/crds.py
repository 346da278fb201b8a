"""CustomResourceDefinitions, generated from the types.

``python -m privatellm.api.crds DIRECTORY`` writes one file a kind; ``make crds`` calls it and a test
compares. The files carry Helm's ``keep`` policy, so uninstalling a chart deletes nobody's instances.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.api.meta import ApiObject
from privatellm.api.schemas import structural_schema

CATEGORY = "privatellms"
"""``kubectl get privatellms`` lists all our kinds."""

OBJECT_TYPES: tuple[type[ApiObject], ...] = (LLMInstance, APITokenRequest, LLMModel)
"""Every kind we define."""

_HEADER = "# Generated from the types in operator/privatellm/api by `make crds`. Do not edit.\n"


def crd_of(model: type[ApiObject]) -> dict[str, Any]:
    """Return the CustomResourceDefinition of one kind."""
    kind = model.KIND
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "annotations": {"helm.sh/resource-policy": "keep"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": list(model.SHORT_NAMES),
                "categories": [CATEGORY],
            },
            "versions": [_version(model)],
        },
    }


def all_crds() -> tuple[dict[str, Any], ...]:
    """Return the definitions of all our kinds."""
    return tuple(crd_of(model) for model in OBJECT_TYPES)


def as_yaml(crd: dict[str, Any]) -> str:
    """Return the text of a definition's file."""
    return _HEADER + yaml.safe_dump(crd, sort_keys=False, width=100, allow_unicode=True)


def write_all(directory: Path) -> None:
    """Write each definition to ``<plural>.yaml`` in ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    for model in OBJECT_TYPES:
        (directory / f"{model.KIND.plural}.yaml").write_text(as_yaml(crd_of(model)))


def _version(model: type[ApiObject]) -> dict[str, Any]:
    subresources: dict[str, Any] = {"status": {}}
    if model.SCALE is not None:
        subresources["scale"] = model.SCALE
    return {
        "name": model.KIND.version,
        "served": True,
        "storage": True,
        "subresources": subresources,
        "additionalPrinterColumns": list(model.COLUMNS),
        "schema": {"openAPIV3Schema": _object_schema(model)},
    }


def _object_schema(model: type[ApiObject]) -> dict[str, Any]:
    fields = structural_schema(model)["properties"]
    spec, status = fields["spec"], fields["status"]
    required = ["spec"] if model.model_fields["spec"].is_required() else []
    # An absent spec gets the schema's defaults only when it defaults to an empty object itself.
    spec = spec if required else spec | {"default": {}}
    return {
        "type": "object",
        "description": model.__doc__,
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        **({"required": required} if required else {}),
    }


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
