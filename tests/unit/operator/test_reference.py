"""The reference pages say what the code does, no more and no less."""

import re
from pathlib import Path

import pytest

from privatellm_operator.fetcher.errors import FetchReason
from privatellm_operator.reconcile.instance import reasons as instance
from privatellm_operator.reconcile.model import reasons as model
from privatellm_operator.reconcile.token import reasons as token
from privatellm_operator.reference import PAGES
from privatellm_operator.reference.conditions import FETCH, reasons
from privatellm_operator.reference.docstrings import attribute_texts
from privatellm_operator.reference.settings import settings_page, variables
from privatellm_operator.settings import GROUPS, Settings

SHIPPED = Path(__file__).parents[3] / "docs/reference"


@pytest.mark.parametrize("name", PAGES)
def test_the_shipped_page_is_the_generated_one(name: str) -> None:
    """``make crds`` writes it."""
    assert (SHIPPED / name).read_text() == PAGES[name]()


def test_every_reason_has_one_row_and_every_row_a_reason() -> None:
    """In both directions: nothing undocumented, nothing invented."""
    rows = re.findall(r"^\| ([\w ]+) \| `(\w+)` \|", PAGES["conditions.md"](), re.MULTILINE)
    enums = {
        "LLMInstance": instance.Reason,
        "APITokenRequest": token.Reason,
        "LLMModel": model.Reason,
        FETCH: FetchReason,
    }
    known = [(kind, reason.value) for kind, enum in enums.items() for reason in enum]

    assert sorted(rows) == sorted(known)


def test_every_reason_is_explained_by_a_sentence() -> None:
    assert [reason for _, reason, text in reasons() if not text.endswith(".")] == []


def test_every_setting_of_the_operator_is_in_a_group_with_a_text_under_it() -> None:
    """A setting without a sentence is a setting that nobody can use."""
    assert {type(group) for _, group in Settings()} == set(GROUPS)
    for group in GROUPS:
        assert set(group.model_fields) == set(attribute_texts(group))


def test_the_page_names_exactly_the_variables_that_are_read() -> None:
    named = re.findall(r"^\| `([A-Z_]+)` \|", settings_page(), re.MULTILINE)
    assert named == list(variables())


def test_a_variable_of_the_page_is_one_that_the_operator_obeys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The names are not only written down."""
    monkeypatch.setenv("PRIVATE_LLM_MAX_TOKEN_REQUESTS", "7")
    monkeypatch.setenv("PRIVATE_LLM_CACHE_CLAIM_SIZE", "9Gi")

    read = Settings.of_environment()
    assert (read.caps.max_token_requests, read.cache.claim_size) == (7, "9Gi")
