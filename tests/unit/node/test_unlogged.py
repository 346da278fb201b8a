"""What ``kubectl logs`` says where there is no log."""

from datetime import UTC, datetime

import pytest

from privatellm_local.node.errors import WaitingReason
from privatellm_local.node.pods.states import ContainerState, Running, Waiting
from privatellm_local.node.pods.unlogged import explanation

REFUSED = ContainerState(Waiting(WaitingReason.ERR_IMAGE_NEVER_PULL))
BEGUN = ContainerState(Running(datetime(2026, 11, 30, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("state", "previous", "expected"),
    [
        (REFUSED, False, 'container "c" in pod "p" is waiting to start: ErrImageNeverPull'),
        (REFUSED, True, 'previous terminated container "c" in pod "p" not found'),
        (BEGUN, True, 'previous terminated container "c" in pod "p" not found'),
        (BEGUN, False, 'container "c" in pod "p" is not available'),
    ],
)
def test_the_words_are_those_of_a_kubelet(
    state: ContainerState, previous: bool, expected: str
) -> None:
    """Which people know, and search for."""
    assert explanation("p", "c", state, previous=previous) == expected
