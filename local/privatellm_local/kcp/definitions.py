"""CustomResourceDefinitions in the API server behind the double: kcp's own kinds and bound APIs. Pure."""

from typing import Any

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_local.kcp.kinds import CONTROL_KINDS


def control_definitions() -> tuple[Manifest, ...]:
    """Return the definitions of kcp's own kinds; the double checks what matters itself."""
    return tuple(_control_definition(kind) for kind in CONTROL_KINDS)


def definition_of(schema: Manifest) -> Manifest:
    """Return the definition that serves the API of an APIResourceSchema."""
    spec = schema["spec"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{spec['names']['plural']}.{spec['group']}"},
        "spec": {
            "group": spec["group"],
            "names": spec["names"],
            "scope": spec["scope"],
            "versions": [
                version | {"schema": {"openAPIV3Schema": version["schema"]}}
                for version in spec["versions"]
            ],
        },
    }


def kind_of(schema: Manifest) -> Kind:
    """Return the kind of an APIResourceSchema at its storage version."""
    spec = schema["spec"]
    version = next(version["name"] for version in spec["versions"] if version["storage"])
    names = spec["names"]
    return Kind(
        spec["group"], version, names["kind"], names["plural"], spec["scope"] == "Namespaced"
    )


def _control_definition(kind: Kind) -> Manifest:
    anything: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Cluster",
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
            },
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": anything, "status": anything},
                        }
                    },
                }
            ],
        },
    }
