"""Bodies that are JSON and YAML at the same time."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from privatellm.kube.encoding import encoded


@given(st.text(st.characters(codec="utf-8")))
def test_what_is_sent_reads_the_same_as_json_and_as_yaml(text: str) -> None:
    """The API server reads an apply as YAML and everything else as JSON."""
    body = encoded({"chatTemplate": text})

    assert json.loads(body) == {"chatTemplate": text}
    assert yaml.safe_load(body) == {"chatTemplate": text}


@pytest.mark.parametrize("text", ["😀", "\x7f", "\x85", "\ufffe", "\U0010ffff"])
def test_characters_that_yaml_refuses_or_json_splits_survive(text: str) -> None:
    """An emoji in a chat template once broke the instance that used it."""
    assert yaml.safe_load(encoded({"text": text}))["text"] == text


def test_half_a_surrogate_pair_is_sent_as_an_escape() -> None:
    """It cannot be UTF-8; the API server answers for it."""
    assert encoded({"text": "\ud800"}) == b'{"text": "\\ud800"}'
