"""The one place where foreign failures become ours.

``Status`` objects, HTTP codes and aiohttp's exceptions are turned into :mod:`privatellm.errors` here
and nowhere else. Messages of the API server are kept, because they name the field that was wrong.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import aiohttp

from privatellm import errors
from privatellm.foreign import parse_json

_BY_CODE: Mapping[int, type[errors.KubernetesError]] = {
    HTTPStatus.UNAUTHORIZED: errors.UnauthorizedError,
    HTTPStatus.FORBIDDEN: errors.ForbiddenError,
    HTTPStatus.NOT_FOUND: errors.NotFoundError,
    HTTPStatus.CONFLICT: errors.ConflictError,
    HTTPStatus.GONE: errors.ExpiredError,
}
LONGEST_MESSAGE = 1024
"""Characters of a server's message that we repeat; bodies of proxies can be whole web pages."""


def of_answer(
    action: str, code: int, body: str, headers: Mapping[str, str]
) -> errors.KubernetesError:
    """Translate an HTTP error answer.

    Args:
        action: What we tried, such as ``GET /api/v1/pods``.
        code: The HTTP status code.
        body: The body, which is a ``Status`` object unless something between us answered.
        headers: The answer's headers.
    """
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        return errors.ThrottledError(
            f"{action} was throttled by the API server.",
            retry_after=_seconds(headers.get("Retry-After", "")),
        )
    try:
        status = parse_json(body)
    except errors.InvalidInputError:
        status = {"message": body}
    return of_status(action, code, status if isinstance(status, dict) else {})


def of_status(action: str, code: int, status: Mapping[str, Any]) -> errors.KubernetesError:
    """Translate a ``Status`` object, as answers and watch events carry it."""
    reason = str(status.get("reason", ""))
    message = f"{action} failed: {str(status.get('message', ''))[:LONGEST_MESSAGE]}"
    return _class_for(code, reason)(message, status=code, reason=reason)


@contextmanager
def translated(action: str, patience_seconds: float) -> Iterator[None]:
    """Turn transport failures inside the block into :class:`~privatellm.errors.UnavailableError`.

    Args:
        action: What we tried, such as ``GET /api/v1/pods``.
        patience_seconds: How long an answer is waited for; told when none came.
    """
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        # ValueError is a body cut off in the middle of its JSON, or nested deeper than we can follow.
        raise errors.UnavailableError(
            f"{action} failed: the API server could not be reached ({_cause(error, patience_seconds)}).",
            reason=type(error).__name__,
        ) from error


def _cause(error: Exception, patience_seconds: float) -> str:
    """Return what went wrong in words, also for errors that have none of their own."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"no answer within {patience_seconds:g} s"
    return str(error) or type(error).__name__


def _class_for(code: int, reason: str) -> type[errors.KubernetesError]:
    if reason == "AlreadyExists":
        return errors.AlreadyExistsError
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return errors.UnavailableError
    return errors.RejectedError


def _seconds(retry_after: str) -> float:
    return float(retry_after) if retry_after.isdigit() else 1.0
