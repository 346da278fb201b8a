"""Values become literals of CEL, whatever they hold."""

import json

from hypothesis import given
from hypothesis import strategies as st

from privatellm.admission import cel
from privatellm.admission.facts import Callers


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_value_never_leaves_its_quotes(value: str) -> None:
    literal = cel.text(value)

    assert json.loads(literal) == value
    assert not literal[1:-1].replace("\\\\", "").replace('\\"', "").count('"')


def test_rare_characters_are_written_as_they_are() -> None:
    """CEL reads no surrogate pairs."""
    assert cel.text("team-🦙") == '"team-🦙"'


def test_lists_and_maps_are_literals_too() -> None:
    assert cel.texts(("a", "b")) == '["a", "b"]'
    assert cel.table({"a": "b"}) == '{"a": "b"}'


def test_callers_are_told_by_name_and_by_group() -> None:
    stranger = cel.is_none_of(Callers(("op",), ("sre",)))

    assert stranger == (
        '!(request.userInfo.username in ["op"])'
        ' && !request.userInfo.?groups.orValue([]).exists(g, g in ["sre"])'
    )


def test_when_nobody_is_let_through_there_is_nothing_to_ask() -> None:
    assert not cel.is_none_of(Callers())
