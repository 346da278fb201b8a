"""The customer's Secret: what is in it, and the smallest patch that keeps it so."""

import copy
from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm import labels
from privatellm.tokens import Token
from privatellm_operator.render import token_secret
from token_worlds import ENDPOINT, a_request, a_secret, encoded

TOKEN = Token.mint()


def test_a_new_secret_carries_the_key_and_both_urls() -> None:
    secret = token_secret.new_secret(a_request(), ENDPOINT, TOKEN)

    decoded = {key: b64decode(value).decode() for key, value in secret["data"].items()}
    assert decoded == {
        "OPENAI_API_KEY": TOKEN.reveal(),
        "OPENAI_API_URL": ENDPOINT,
        "OPENAI_BASE_URL": f"{ENDPOINT}/v1",
    }
    assert (secret["metadata"]["name"], secret["type"]) == ("app-token", "Opaque")


def test_a_dry_run_needs_no_key() -> None:
    secret = token_secret.new_secret(a_request(), ENDPOINT, None)

    assert token_secret.API_KEY not in secret["data"]


def test_a_request_without_a_description_leaves_no_annotation() -> None:
    assert token_secret.new_secret(a_request(), ENDPOINT, TOKEN)["metadata"]["annotations"] == {}


def test_names_too_long_for_a_label_are_shortened() -> None:
    long = "x" * 200
    secret = token_secret.new_secret(a_request(instanceName=long), ENDPOINT, TOKEN)

    assert len(secret["metadata"]["labels"][labels.LLM_INSTANCE]) <= 63


def test_a_secret_in_shape_needs_no_patch() -> None:
    request = a_request(description="the app")

    assert token_secret.in_shape(a_secret(request, TOKEN), request, ENDPOINT) is None


DRIFT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "label changed": (
        {"metadata": {"labels": {labels.PART_OF: "other"}}},
        {"metadata": {"labels": {labels.PART_OF: "private-llm"}}},
    ),
    "label removed": (
        {"metadata": {"labels": {labels.CHAT_UI_COMPATIBILITY: None}}},
        {"metadata": {"labels": {labels.CHAT_UI_COMPATIBILITY: "openai"}}},
    ),
    "description added": (
        {"metadata": {"annotations": {labels.DESCRIPTION: "forged"}}},
        {"metadata": {"annotations": {labels.DESCRIPTION: None}}},
    ),
    "url changed": (
        {"data": {"OPENAI_API_URL": encoded("https://evil.example")}},
        {"data": {"OPENAI_API_URL": encoded(ENDPOINT)}},
    ),
}


@pytest.mark.parametrize(("drift", "cure"), DRIFT.values(), ids=DRIFT)
def test_a_patch_names_what_drifted_and_the_version_it_was_made_for(
    drift: dict[str, Any], cure: dict[str, Any]
) -> None:
    live = merged(a_secret(a_request(), TOKEN), drift)

    patch = token_secret.in_shape(live, a_request(), ENDPOINT)

    guard = {"uid": "secret-uid", "resourceVersion": "9"}
    assert patch == cure | {"metadata": cure.get("metadata", {}) | guard}


def test_a_secret_whose_data_is_gone_gets_its_urls_back() -> None:
    live = a_secret(a_request(), TOKEN) | {"data": None}

    patch = token_secret.in_shape(live, a_request(), ENDPOINT)

    assert patch is not None
    assert set(patch["data"]) == {"OPENAI_API_URL", "OPENAI_BASE_URL"}


def test_taking_the_key_out_takes_the_chat_uis_label_too() -> None:
    patch = token_secret.without_key(a_secret(a_request(), TOKEN))

    assert patch is not None
    assert patch["data"] == {"OPENAI_API_KEY": None}
    assert patch["metadata"]["labels"] == {labels.CHAT_UI_COMPATIBILITY: None}


def test_a_secret_without_a_key_needs_no_second_removal() -> None:
    live = a_secret(a_request(), TOKEN)
    patch = token_secret.without_key(live)
    assert patch is not None

    assert token_secret.without_key(merged(live, patch)) is None


def test_a_new_key_comes_with_all_that_belongs_to_it() -> None:
    live = a_secret(a_request(), None) | {"data": {}}

    patch = token_secret.with_key(live, a_request(), ENDPOINT, TOKEN)

    assert patch["data"]["OPENAI_API_KEY"] == encoded(TOKEN.reveal())
    assert token_secret.in_shape(merged(live, patch), a_request(), ENDPOINT) is None


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
def test_what_others_wrote_stays_and_no_argument_changes(
    extra_labels: dict[str, str], extra_data: dict[str, str]
) -> None:
    live = a_secret(a_request(), TOKEN)
    live["metadata"]["labels"] = extra_labels
    live["data"] = extra_data
    before = copy.deepcopy(live)

    patch = token_secret.in_shape(live, a_request(), ENDPOINT)

    assert live == before
    assert patch is not None
    after = merged(live, patch)
    ours = token_secret.new_secret(a_request(), ENDPOINT, None)
    assert after["metadata"]["labels"] == extra_labels | ours["metadata"]["labels"]
    assert after["data"] == extra_data | ours["data"]


def merged(stored: Any, patch: Any) -> Any:
    """Apply a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    base = stored if isinstance(stored, dict) else {}
    kept = {key: value for key, value in base.items() if key not in patch}
    new = {key: merged(base.get(key), v) for key, v in patch.items() if v is not None}
    return kept | new
