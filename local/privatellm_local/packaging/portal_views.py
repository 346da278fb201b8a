"""What the portal shows of our kinds: lists, details and forms, generated from the API types.

The file that comes out says what follows from the types. What belongs to one installation (models, texts,
the place in the navigation) is put around it by a chart's template, which builds objects and writes them
with ``toJson``, so that no text can break out of its value.

A form's empty field arrives as an empty text, and everything arrives as a text. So a form offers a field
only when an empty text is a valid value of it, or when the customer must choose from a list. A field whose
list depends on the installation carries the name of the list as ``choices``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from privatellm.api.api_token_request import APITokenRequest, TokenCondition
from privatellm.api.crds import crd_of
from privatellm.api.llm_instance import InstanceCondition, LLMInstance
from privatellm.api.meta import ApiObject
from privatellm.kube.kinds import Kind
from privatellm_local.packaging.portal_secrets import secret_view

Field = dict[str, Any]
Schema = dict[str, Any]

COPY = {"uiSettings": {"withCopyButton": True}}

_ACRONYMS = {"dns": "DNS", "id": "ID", "url": "URL"}
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")

_NOT_SHOWN = frozenset({"conditions", "observedGeneration", "selector", "slug", "replicas"})
"""Fields of a status that tell a customer nothing: bookkeeping, and what ``ready`` says better."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A kind in the portal.

    Attributes:
        model: The kind's type.
        label: What the navigation calls its objects.
        icon: Name of a UI5 icon.
        ready: Condition that tells whether an object is ready.
        form: Fields of the form, by the name in the spec.
        copied: Paths of values that a customer takes elsewhere.
    """

    model: type[ApiObject]
    label: str
    icon: str
    ready: str
    form: dict[str, Field]
    copied: frozenset[str]


def views() -> list[dict[str, Any]]:
    """Return what the portal's navigation lists, in its order."""
    listed = (
        Listed(
            LLMInstance,
            "LLM instances",
            "machine",
            InstanceCondition.READY.value,
            {"model": {"choices": "models"}, "replicas": {"choices": "replicas"}},
            frozenset({"status.endpoint"}),
        ),
        Listed(
            APITokenRequest,
            "API keys",
            "key",
            TokenCondition.READY.value,
            {
                "instanceName": {"dynamicValuesDefinition": _names_of(LLMInstance.KIND)},
                "description": {},
                "expiresAfter": {"choices": "keyLifetimes"},
            },
            frozenset({"status.secretName"}),
        ),
    )
    return [*(_view(one) for one in listed), secret_view()]


def label_of(name: str) -> str:
    """Return a field's name as words, such as ``Instance name`` for ``instanceName``."""
    words = [word.lower() for word in _WORD.findall(name)]
    said = [_ACRONYMS.get(word, word) for word in words]
    return " ".join([said[0][0].upper() + said[0][1:], *said[1:]])


def graphql_group(kind: Kind) -> str:
    """Return how the portal's GraphQL gateway calls an API group."""
    return re.sub(r"[.-]", "_", kind.group)


def _view(listed: Listed) -> dict[str, Any]:
    kind = listed.model.KIND
    singular = kind.name.lower()
    return {
        "id": f"{graphql_group(kind)}_{singular}",
        "path": f"{graphql_group(kind)}_{kind.plural}",
        "contextKey": f"{singular}Id",
        "label": listed.label,
        "icon": listed.icon,
        "resource": {
            "apiGroup": graphql_group(kind),
            "version": kind.version,
            "entityCollection": f"{kind.name}s",
            "entity": kind.name,
        },
        "readyCondition": {
            "jsonPathExpression": (
                f"status.conditions[?(@.type=='{listed.ready}' && @.status=='True')]"
            ),
            "property": ["status.conditions.status", "status.conditions.type"],
        },
        "listView": {"fields": [*_columns(listed), _of_condition(listed, "Reason")]},
        "detailView": {
            "fields": [
                *_details(listed),
                *(_of_condition(listed, n) for n in ("Reason", "Message")),
            ]
        },
        "createView": {"fields": [_name(required=True), *_form(listed)]},
    }


def _columns(listed: Listed) -> Iterator[Field]:
    """Yield the columns of ``kubectl get``; an age is shown as the time that the portal has."""
    yield _name()
    for column in listed.model.COLUMNS:
        label = "Created" if column["type"] == "date" else column["name"]
        yield _shown(listed, label, column["jsonPath"].removeprefix("."))


def _details(listed: Listed) -> Iterator[Field]:
    yield _name()
    schema = _schema_of(listed.model)
    for part in ("spec", "status"):
        for name, field in schema[part]["properties"].items():
            if name not in _NOT_SHOWN and field["type"] not in ("object", "array"):
                yield _shown(listed, label_of(name), f"{part}.{name}")


def _shown(listed: Listed, label: str, path: str) -> Field:
    return {"label": label, "property": path} | (COPY if path in listed.copied else {})


def _of_condition(listed: Listed, label: str) -> Field:
    """Return a part of the condition that tells whether an object is ready."""
    part = label.lower()
    return {
        "label": label,
        "jsonPathExpression": f"status.conditions[?(@.type=='{listed.ready}')].{part}",
        "property": ["status.conditions.type", f"status.conditions.{part}"],
    }


def _form(listed: Listed) -> Iterator[Field]:
    spec = _schema_of(listed.model)["spec"]
    for name, extra in listed.form.items():
        field = spec["properties"][name]
        if not extra and not _takes_nothing(field):
            raise ValueError(f"{name} refuses an empty text, so a form must offer a list for it.")
        required = {"required": True} if extra or name in spec.get("required", ()) else {}
        yield {"label": label_of(name), "property": f"spec.{name}"} | required | extra


def _takes_nothing(field: Schema) -> bool:
    return field["type"] == "string" and not field.keys() & {"pattern", "minLength", "enum"}


def _name(*, required: bool = False) -> Field:
    field: Field = {"label": "Name", "property": "metadata.name"}
    return field | ({"required": True} if required else {})


def _names_of(kind: Kind) -> Field:
    """Return how a form asks for the names of a kind's objects in the customer's namespace."""
    group, plural = graphql_group(kind), f"{kind.name}s"
    asked = f"{plural}(namespace: $namespace) {{ items {{ metadata {{ name }} }} }}"
    return {
        "operation": f"{group}.{kind.version}.{plural}.items",
        "gqlQuery": f"query ($namespace: String) {{ {group} {{ {kind.version} {{ {asked} }} }} }}",
        "gqlQueryVariables": {"namespace": "{context.namespaceId}"},
        "value": "metadata.name",
        "key": "metadata.name",
    }


def _schema_of(model: type[ApiObject]) -> Schema:
    (version,) = crd_of(model)["spec"]["versions"]
    properties: Schema = version["schema"]["openAPIV3Schema"]["properties"]
    return properties
