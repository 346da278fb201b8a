"""What provider and customer may say about deletion."""

import pytest

from privatellm.errors import InvalidObjectError
from privatellm_sync_agent.published.deletion import (
    PROPAGATION,
    WAIT_FOR_OTHERS,
    propagation_of,
    waits_for_others,
)


def annotated(**annotations: str) -> dict[str, object]:
    return {"metadata": {"name": "x", "annotations": annotations}}


@pytest.mark.parametrize(
    ("annotations", "waits"),
    [({}, False), ({WAIT_FOR_OTHERS: "true"}, True), ({WAIT_FOR_OTHERS: "false"}, False)],
)
def test_a_provider_says_whether_copies_wait_for_others(
    annotations: dict[str, str], waits: bool
) -> None:
    """Unless it is said, they do not."""
    assert waits_for_others(annotated(**annotations)) is waits


@pytest.mark.parametrize("text", ["", "True", "yes", "1", "true "])
def test_a_wish_that_cannot_be_read_stops_the_resource(text: str) -> None:
    """A guess would delete what should have waited."""
    with pytest.raises(InvalidObjectError, match=WAIT_FOR_OTHERS):
        waits_for_others(annotated(**{WAIT_FOR_OTHERS: text}))


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("foreground", "Foreground"),
        ("background", "Background"),
        ("orphan", "Background"),
        ("Foreground", "Background"),
        ("x", "Background"),
    ],
)
def test_a_customer_can_wait_but_leave_nothing_behind(text: str, policy: str) -> None:
    """Upstream's values; what is none counts as background, and orphans are never made."""
    assert propagation_of(annotated(**{PROPAGATION: text})) == policy
    assert propagation_of({"metadata": {"name": "x"}}) == "Background"
