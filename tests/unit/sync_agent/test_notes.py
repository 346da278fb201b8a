"""Notes on a customer's object, whatever the customer makes of them."""

import json

import pytest

from privatellm_sync_agent.engine.notes import places
from privatellm_sync_agent.objects.ownership import RELATED_PREFIX
from privatellm_sync_agent.related.names import Place


def noted(*texts: str) -> dict[Place, str]:
    """Return the places that notes with these texts name."""
    annotations = {f"{RELATED_PREFIX}key.{index}": text for index, text in enumerate(texts)}
    return places({"metadata": {"annotations": annotations}}, "key")


OURS = json.dumps({"namespace": "a", "name": "b", "copyOf": "mark"})


def test_a_note_names_a_place_and_the_mark_of_its_copy() -> None:
    """One of upstream's has no mark, and an object of the whole workspace no namespace."""
    assert noted(OURS, '{"name": "c"}') == {Place("a", "b"): "mark", Place("", "c"): ""}
    assert places({"metadata": {}}, "key") == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "null",
        "{}",
        '{"name": null}',
        '{"name": ["b"]}',
        "[" * 4000,
        '{"name":' * 4000,
    ],
    ids=lambda text: text[:10] or "nothing",
)
def test_what_a_customer_made_of_a_note_names_nothing(text: str) -> None:
    """And hides none of the others."""
    assert noted(text, OURS) == {Place("a", "b"): "mark"}
