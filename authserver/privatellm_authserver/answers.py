"""What the client is told, as ASGI messages that are made once.

Traefik hands every answer other than 2xx to the client as it is, so a denial is an error object that the
OpenAI SDKs understand, with the headers HTTP asks for. No answer names a key, a hash or an instance.
"""

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from privatellm_authserver.decision import Reason
from privatellm_authserver.headers import AUTHORIZATION, INSTANCE, KEY_ID, Header
from privatellm_authserver.index import Allowed

Message = dict[str, Any]
"""One message of the ASGI protocol."""

RETRY_AFTER_SECONDS: Final = 5
"""When a client may ask again after we could not decide."""

_NO_CONTENT: Final[Header] = (b"content-length", b"0")

NO_BODY: Final[Message] = {"type": "http.response.body", "body": b""}


class Answer(NamedTuple):
    """An answer that never varies."""

    start: Message
    body: Message


class Denial(NamedTuple):
    """What a reason means to the client.

    Attributes:
        status: The HTTP status.
        code: The error code; finer reasons share one, so that probing tells nothing.
        message: One sentence of what is wrong and what to do.
    """

    status: HTTPStatus
    code: str
    message: str


_NO_SUCH_PATH: Final = (
    "This method and path are not served here. Use the OpenAI endpoints below the endpoint's /v1."
)

DENIALS: Final[dict[Reason, Denial]] = {
    Reason.INDEX_NOT_FRESH: Denial(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "service_unavailable",
        "API keys cannot be checked at the moment. Try again in a few seconds.",
    ),
    Reason.INVALID_KEY: Denial(
        HTTPStatus.UNAUTHORIZED,
        "invalid_api_key",
        "No valid API key. Send the OPENAI_API_KEY of your token Secret as a bearer token.",
    ),
    Reason.EXPIRED_KEY: Denial(
        HTTPStatus.UNAUTHORIZED,
        "expired_api_key",
        "This API key has expired. Order a new one with an APITokenRequest.",
    ),
    Reason.REVOKED_KEY: Denial(
        HTTPStatus.UNAUTHORIZED,
        "revoked_api_key",
        "This API key was revoked. Read the Secret again or order a new key.",
    ),
    Reason.FACTS_MISSING: Denial(HTTPStatus.FORBIDDEN, "path_not_allowed", _NO_SUCH_PATH),
    Reason.WRONG_INSTANCE: Denial(
        HTTPStatus.FORBIDDEN,
        "wrong_instance",
        "This API key does not open this endpoint. Use the OPENAI_BASE_URL that came with the key.",
    ),
    Reason.ALIASED_HEADER: Denial(HTTPStatus.FORBIDDEN, "path_not_allowed", _NO_SUCH_PATH),
    Reason.WRONG_HOST: Denial(HTTPStatus.FORBIDDEN, "path_not_allowed", _NO_SUCH_PATH),
    Reason.PATH_NOT_ALLOWED: Denial(HTTPStatus.FORBIDDEN, "path_not_allowed", _NO_SUCH_PATH),
}


def error_body(code: str, message: str, kind: str = "invalid_request_error") -> bytes:
    """Return an error object as the OpenAI API words it."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return json.dumps({"error": error}).encode()


def answer_of(denial: Denial) -> Answer:
    """Return the ASGI messages of a denial."""
    if denial.status is HTTPStatus.SERVICE_UNAVAILABLE:
        body = error_body(denial.code, denial.message, "server_error")
        return _answer(denial.status, body, [(b"retry-after", b"%d" % RETRY_AFTER_SECONDS)])
    body = error_body(denial.code, denial.message)
    challenge = [(b"www-authenticate", b"Bearer")]
    return _answer(
        denial.status, body, challenge if denial.status == HTTPStatus.UNAUTHORIZED else []
    )


def start_of(allowed: Allowed) -> Message:
    """Return the first message of the answer to an allowed request; :data:`NO_BODY` is the second."""
    instance = allowed.instance
    headers = (
        _NO_CONTENT,
        (AUTHORIZATION, instance.authorization),
        (KEY_ID, allowed.key_id),
        (INSTANCE, instance.slug),
    )
    return {"type": "http.response.start", "status": 200, "headers": headers}


def _answer(status: HTTPStatus, body: bytes, extra: Iterable[tuple[bytes, bytes]]) -> Answer:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        *extra,
    ]
    start: Message = {"type": "http.response.start", "status": int(status), "headers": headers}
    return Answer(start, {"type": "http.response.body", "body": body})


ANSWERS: Final[dict[Reason, Answer]] = {
    reason: answer_of(denial) for reason, denial in DENIALS.items()
}

NOT_FOUND: Final = _answer(
    HTTPStatus.NOT_FOUND, error_body("not_found", "Only GET /auth/verify is served here."), []
)
"""The answer to everything that is not a question of Traefik's."""
