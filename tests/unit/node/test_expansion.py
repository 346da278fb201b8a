import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.node.expansion import expand, references

VALUES = {"A": "1", "B_2": "two", "dotted.name": "d", "NESTED": "$(A)"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(B_2)z", "x1ytwoz"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("$()", "$()"),
        ("$(dotted.name)", "d"),
    ],
)
def test_text_is_expanded_by_the_rules_of_kubernetes(text: str, expected: str) -> None:
    """Known names are replaced, unknown ones stay, and a doubled dollar is a literal one."""
    assert expected == expand(text, VALUES)


def test_a_value_is_never_expanded_again() -> None:
    """What a variable holds is data, even when it looks like a reference."""
    assert expand("$(NESTED)", VALUES) == "$(A)"


@given(st.text())
def test_any_text_survives_when_its_dollars_are_doubled(text: str) -> None:
    """Escaping is complete: no text can smuggle a reference through it."""
    assert text == expand(text.replace("$", "$$"), VALUES)


def test_escaped_references_are_no_references() -> None:
    """A secret's name that is only mentioned exposes nothing."""
    assert references("$(A) $$(B_2)") == {"A"}
