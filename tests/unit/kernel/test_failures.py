"""What the API server and the network say, in our words."""

import json

import aiohttp
import pytest

from privatellm import errors
from privatellm.kube import failures

CODES = {
    "rejected": (400, "BadRequest", errors.RejectedError),
    "unauthorized": (401, "Unauthorized", errors.UnauthorizedError),
    "forbidden": (403, "Forbidden", errors.ForbiddenError),
    "not found": (404, "NotFound", errors.NotFoundError),
    "conflict": (409, "Conflict", errors.ConflictError),
    "already exists": (409, "AlreadyExists", errors.AlreadyExistsError),
    "gone": (410, "Expired", errors.ExpiredError),
    "invalid": (422, "Invalid", errors.RejectedError),
    "internal": (500, "InternalError", errors.UnavailableError),
    "unavailable": (503, "ServiceUnavailable", errors.UnavailableError),
    "time-out": (504, "Timeout", errors.UnavailableError),
}


@pytest.mark.parametrize(("code", "reason", "error"), CODES.values(), ids=CODES)
def test_an_answer_becomes_the_error_that_fits(
    code: int, reason: str, error: type[errors.KubernetesError]
) -> None:
    body = json.dumps({"kind": "Status", "reason": reason, "message": "the field x is wrong"})

    translated = failures.of_answer("GET /x", code, body, {})

    assert type(translated) is error
    assert (translated.status, translated.reason) == (code, reason)
    assert str(translated) == "GET /x failed: the field x is wrong"


RETRYABLE = {
    errors.ConflictError,
    errors.UnauthorizedError,
    errors.ExpiredError,
    errors.ThrottledError,
    errors.UnavailableError,
}


@pytest.mark.parametrize("error", errors.KubernetesError.__subclasses__())
def test_only_what_time_can_heal_is_worth_another_attempt(
    error: type[errors.KubernetesError],
) -> None:
    assert error.retryable is (error in RETRYABLE)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("", 1.0), ("soon", 1.0)])
def test_a_throttled_request_says_how_long_to_wait(header: str, seconds: float) -> None:
    error = failures.of_answer("GET /x", 429, "", {"Retry-After": header})

    assert isinstance(error, errors.ThrottledError)
    assert error.retry_after == seconds


@pytest.mark.parametrize(
    "body", ["<html>bad gateway</html>", "", "[]", '"text"', "null", "[" * 4000]
)
def test_an_answer_that_is_no_status_is_still_translated(body: str) -> None:
    error = failures.of_answer("GET /x", 502, body, {})

    assert isinstance(error, errors.UnavailableError)


def test_a_proxys_web_page_is_not_repeated_whole() -> None:
    error = failures.of_answer("GET /x", 502, "x" * 100_000, {})

    assert len(str(error)) < 2 * failures.LONGEST_MESSAGE


@pytest.mark.parametrize(
    "failure",
    [
        aiohttp.ServerDisconnectedError(),
        TimeoutError(),
        ConnectionResetError("reset"),
        ValueError("cut JSON"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_broken_connection_is_an_api_server_that_cannot_be_reached(failure: Exception) -> None:
    with (
        pytest.raises(errors.UnavailableError, match="could not be reached") as raised,
        failures.translated("GET /x", 30),
    ):
        raise failure

    assert raised.value.reason == type(failure).__name__
    assert raised.value.__cause__ is failure


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (TimeoutError(), "(no answer within 30 s)"),
        (TimeoutError("Connection timeout to host h"), "(Connection timeout to host h)"),
        (aiohttp.ClientConnectionError(), "(ClientConnectionError)"),
    ],
    ids=["silence", "own words", "no words"],
)
def test_the_cause_is_always_named(failure: Exception, words: str) -> None:
    with (
        pytest.raises(errors.UnavailableError) as raised,
        failures.translated("GET /x", 30),
    ):
        raise failure

    assert words in str(raised.value)


def test_our_own_errors_pass_through_a_translation() -> None:
    with pytest.raises(errors.NotFoundError), failures.translated("GET /x", 30):
        raise errors.NotFoundError("gone")


def test_faults_of_the_program_are_not_disguised() -> None:
    with pytest.raises(KeyError), failures.translated("GET /x", 30):
        raise KeyError("x")
