"""Text of others, whatever it says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)

NONSENSE = {
    "nothing": "",
    "no JSON": "<html>",
    "cut off": b'{"a": [1, ',
    "no text": b"\xff\xfe\xfd",
    "too long a number": "9" * 5000,
    "brackets": "[" * 4000,
    "nested lists": "[" * 100_000 + "]" * 100_000,
    "nested objects": b'{"a":' * 4000,
}


@given(VALUES)
def test_json_is_what_it_says(value: Any) -> None:
    """As text and as bytes."""
    text = json.dumps(value)

    assert parse_json(text) == parse_json(text.encode()) == value


@pytest.mark.parametrize("text", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_one_kind_of_error(text: str | bytes) -> None:
    """Also where the parser would run out of stack; readers expect a ValueError."""
    with pytest.raises(InvalidInputError, match="must be JSON") as caught:
        parse_json(text)

    assert isinstance(caught.value, ValueError)


def test_an_error_repeats_nothing_of_the_text() -> None:
    """It may be a secret, or pages long."""
    with pytest.raises(InvalidInputError) as caught:
        parse_json('{"key": "sk-secret"')

    assert "secret" not in str(caught.value)
