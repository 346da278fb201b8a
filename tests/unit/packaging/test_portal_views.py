"""What the portal shows follows from the API types."""

import re

import pytest

from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.crds import crd_of
from privatellm.api.llm_instance import LLMInstance
from privatellm_local.packaging import portal_views
from privatellm_local.packaging.portal_secrets import secret_view
from privatellm_local.packaging.portal_views import Listed, graphql_group, label_of, views
from privatellm_operator.render import token_secret


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("model", "Model"),
        ("instanceName", "Instance name"),
        ("dnsPolicy", "DNS policy"),
        ("keyID", "Key ID"),
        ("lastUsedAt", "Last used at"),
        ("readyReplicas", "Ready replicas"),
    ],
)
def test_a_field_is_called_by_its_words(name: str, label: str) -> None:
    """Acronyms stay what they are."""
    assert label_of(name) == label


def test_a_group_is_called_as_graphql_can() -> None:
    """GraphQL's names have no dots and no hyphens."""
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", graphql_group(LLMInstance.KIND))


@pytest.mark.parametrize("model", [LLMInstance, APITokenRequest], ids=lambda one: one.KIND.name)
def test_a_form_offers_no_field_that_refuses_what_it_sends(
    model: type[LLMInstance | APITokenRequest],
) -> None:
    """A field without a list is sent as an empty text when nobody fills it in."""
    (view,) = [v for v in views() if v.get("resource", {}).get("entity") == model.KIND.name]
    (version,) = crd_of(model)["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for field in view["createView"]["fields"]:
        if not field["property"].startswith("spec.") or field.get("required"):
            continue
        schema = spec[field["property"].removeprefix("spec.")]
        assert schema["type"] == "string"
        assert not schema.keys() & {"pattern", "enum", "minLength"}


def test_a_field_that_refuses_an_empty_text_needs_a_list() -> None:
    """Said when the file is generated, not when a customer orders."""
    listed = Listed(APITokenRequest, "x", "x", "Ready", {"expiresAfter": {}}, frozenset())

    with pytest.raises(ValueError, match="expiresAfter refuses an empty text"):
        list(portal_views._form(listed))


def test_every_view_has_a_place_of_its_own() -> None:
    """In the navigation and in the context of its page."""
    for part in ("id", "path", "contextKey", "label"):
        found = [view[part] for view in views()]
        assert len(set(found)) == len(found)


def test_the_keys_that_are_shown_are_those_that_are_written() -> None:
    """By the operator, into the Secret of a token request."""
    shown = {
        field["propertyField"]["key"]
        for field in secret_view()["detailView"]["fields"]
        if "propertyField" in field
    }

    assert shown == {token_secret.API_KEY, token_secret.API_URL, token_secret.BASE_URL}
