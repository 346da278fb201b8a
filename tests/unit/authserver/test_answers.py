"""What clients are told: statuses, codes and headers of the design's table."""

import json

import pytest

from privatellm_authserver.answers import ANSWERS, NOT_FOUND, Answer
from privatellm_authserver.decision import Reason

TABLE = {
    Reason.INDEX_NOT_FRESH: (503, "service_unavailable"),
    Reason.INVALID_KEY: (401, "invalid_api_key"),
    Reason.EXPIRED_KEY: (401, "expired_api_key"),
    Reason.REVOKED_KEY: (401, "revoked_api_key"),
    Reason.FACTS_MISSING: (403, "path_not_allowed"),
    Reason.WRONG_INSTANCE: (403, "wrong_instance"),
    Reason.ALIASED_HEADER: (403, "path_not_allowed"),
    Reason.WRONG_HOST: (403, "path_not_allowed"),
    Reason.PATH_NOT_ALLOWED: (403, "path_not_allowed"),
}


def headers_of(answer: Answer) -> dict[bytes, bytes]:
    return dict(answer.start["headers"])


@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_the_status_and_code_of_the_table(reason: Reason) -> None:
    """The contract of design section 6."""
    answer = ANSWERS[reason]
    error = json.loads(answer.body["body"])["error"]

    assert (answer.start["status"], error["code"]) == TABLE[reason]


@pytest.mark.parametrize("answer", [*ANSWERS.values(), NOT_FOUND])
def test_each_answer_is_an_error_object_of_the_openai_api(answer: Answer) -> None:
    """The SDKs show message, type, parameter and code."""
    body = answer.body["body"]

    assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}
    assert headers_of(answer)[b"content-type"] == b"application/json"
    assert headers_of(answer)[b"content-length"] == str(len(body)).encode()
    assert headers_of(answer)[b"cache-control"] == b"no-store"


@pytest.mark.parametrize("reason", Reason)
def test_every_401_challenges_and_every_503_says_when_to_come_back(reason: Reason) -> None:
    """RFC 9110 11.6.1 and 10.2.3."""
    headers, status = headers_of(ANSWERS[reason]), ANSWERS[reason].start["status"]

    assert headers.get(b"www-authenticate") == (b"Bearer" if status == 401 else None)
    assert (b"retry-after" in headers) is (status == 503)


def test_finer_reasons_of_the_same_code_cannot_be_told_apart() -> None:
    """Probing learns that a path is not served, and no more."""
    answers = {
        ANSWERS[r].body["body"] for r, (_, code) in TABLE.items() if code == "path_not_allowed"
    }

    assert len(answers) == 1
