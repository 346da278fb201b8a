"""The agent's one condition on a customer's object."""

from datetime import UTC, datetime
from typing import Any

import pytest

from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.crds import crd_of
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.obstacles import (
    SYNCED,
    Obstacle,
    kept,
    takes_conditions,
    with_obstacles,
)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LATER = NOW.replace(hour=13)
READY = {"type": "Ready", "status": "True"}
SECRET_THERE = Obstacle(Reason.RELATED_CONFLICT, "Secret s exists and is not ours.")


def _told(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in status["conditions"] if one["type"] == SYNCED]


def test_an_obstacle_stands_beside_what_the_provider_says() -> None:
    """With reason, sentence and the generation that was looked at."""
    status = with_obstacles({"phase": "Ready", "conditions": [READY]}, [SECRET_THERE], 3, NOW)

    assert status is not None
    assert status["phase"] == "Ready"
    assert status["conditions"][0] == READY
    assert _told(status) == [
        {
            "type": SYNCED,
            "status": "False",
            "reason": "RelatedObjectConflict",
            "message": SECRET_THERE.message,
            "observedGeneration": 3,
            "lastTransitionTime": "2026-11-30T12:00:00Z",
        }
    ]


def test_saying_it_again_says_the_same() -> None:
    """A pass over a known obstacle writes nothing."""
    once = with_obstacles({}, [SECRET_THERE], 3, NOW)

    assert once is not None
    assert with_obstacles(once, [SECRET_THERE], 3, LATER) == once


def test_the_condition_goes_with_the_obstacle_and_nothing_is_said_without_one() -> None:
    """What the provider says stays as it was."""
    provider = {"phase": "Ready", "conditions": [READY]}
    told = with_obstacles(provider, [SECRET_THERE], 3, NOW)

    assert told is not None
    assert with_obstacles(told, [], 3, LATER) == provider
    assert with_obstacles(provider, [], 3, LATER) is None


def test_the_providers_new_word_leaves_the_agents_standing() -> None:
    """Until the end of the pass, when it is known what is in the way."""
    told = with_obstacles({}, [SECRET_THERE], 3, NOW)

    assert told is not None
    status = kept({"phase": "Failed", "conditions": [READY]}, told)
    assert status == {"phase": "Failed", "conditions": [READY, *_told(told)]}
    assert kept({"phase": "Failed"}, {}) == {"phase": "Failed"}


def test_a_forged_condition_of_a_provider_is_not_the_agents_word() -> None:
    """What travels up under our name is left out."""
    forged = {"conditions": [{"type": SYNCED, "status": "True"}]}

    assert kept(forged, {}) == {"conditions": []}


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
BARE = {"type": "object", "properties": {"phase": {"type": "string"}}}
STRANGE = {
    "type": "object",
    "properties": {"conditions": {"type": "array", "items": {"properties": {"type": {}}}}},
}


@pytest.mark.parametrize(
    ("status", "subresources", "expected"),
    [
        (OPEN, {"status": {}}, True),
        (OPEN, {}, False),
        (BARE, {"status": {}}, False),
        (STRANGE, {"status": {}}, False),
    ],
)
def test_only_a_status_with_room_for_conditions_gets_one(
    status: dict[str, Any], subresources: dict[str, Any], expected: bool
) -> None:
    """Elsewhere it would be pruned, and be written anew in every pass."""
    schema = {"type": "object", "properties": {"status": status}}
    version = {"schema": {"openAPIV3Schema": schema}, "subresources": subresources}

    assert takes_conditions(version) is expected


def test_a_token_request_has_room_for_it() -> None:
    """So a customer whose own Secret is in the way reads it where they look."""
    [version] = crd_of(APITokenRequest)["spec"]["versions"]

    assert takes_conditions(version)
