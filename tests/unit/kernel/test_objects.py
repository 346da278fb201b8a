"""Objects at the border: read once, frozen, written as Kubernetes reads them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from privatellm.api.api_token_request import APITokenRequest, APITokenRequestStatus
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.meta import format_time
from privatellm.errors import InvalidObjectError

METADATA = {"name": "app", "namespace": "acme", "uid": "u", "resourceVersion": "7"}


def a_request(**fields: Any) -> dict[str, Any]:
    """Return a stored token request."""
    return {"metadata": METADATA, "spec": {"instanceName": "chat"}} | fields


def test_camel_case_on_the_wire_is_snake_case_in_memory() -> None:
    request = APITokenRequest.parse(a_request(status={"keyID": "k", "secretName": "s"}))

    assert request.spec.instance_name == "chat"
    assert (request.status.key_id, request.status.secret_name) == ("k", "s")
    assert request.metadata.resource_version == "7"


def test_a_status_is_written_without_what_is_absent() -> None:
    assert APITokenRequestStatus(key_id="k").to_kubernetes() == {"keyID": "k", "conditions": []}


def test_an_order_needs_nothing_but_a_name() -> None:
    instance = LLMInstance.parse({"metadata": METADATA})

    assert (instance.spec.model, instance.spec.replicas) == ("tinyllama", 1)


def test_a_field_of_a_newer_version_does_no_harm() -> None:
    request = APITokenRequest.parse(a_request(future=1, status={"future": {"a": 1}}))

    assert request.status == APITokenRequestStatus()


def test_a_fault_names_the_object_the_field_and_the_rule() -> None:
    with pytest.raises(InvalidObjectError, match=r"APITokenRequest app .*spec\.instanceName"):
        APITokenRequest.parse({"metadata": METADATA, "spec": {"instanceName": "-chat"}})


def test_a_fault_does_not_repeat_what_was_written() -> None:
    with pytest.raises(InvalidObjectError) as raised:
        APITokenRequest.parse(a_request(spec={"instanceName": "chat", "revoked": "hunter2"}))

    assert "hunter2" not in str(raised.value)


def test_an_object_in_memory_cannot_be_changed() -> None:
    request = APITokenRequest.parse(a_request())

    with pytest.raises(ValidationError):
        request.spec.revoked = True  # type: ignore[misc]


@pytest.mark.parametrize(
    ("extra", "deleting"), [({}, False), ({"deletionTimestamp": "2026-03-01T12:00:00Z"}, True)]
)
def test_an_object_that_goes_away_says_so(extra: dict[str, str], deleting: bool) -> None:
    request = APITokenRequest.parse(a_request(metadata=METADATA | extra))

    assert request.metadata.is_deleting is deleting


def test_times_are_written_in_utc_with_whole_seconds() -> None:
    moment = datetime(2026, 3, 1, 14, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))

    assert format_time(moment) == "2026-03-01T12:00:00Z"
    assert format_time(moment.astimezone(UTC)) == "2026-03-01T12:00:00Z"
