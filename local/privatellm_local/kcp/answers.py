"""The ``Status`` objects with which kcp refuses."""

from http import HTTPStatus

from privatellm.kube import Manifest

_REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "Forbidden",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "UnsupportedMediaType",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid",
    HTTPStatus.TOO_MANY_REQUESTS: "TooManyRequests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalError",
    HTTPStatus.SERVICE_UNAVAILABLE: "ServiceUnavailable",
}


def status(code: int, message: str) -> Manifest:
    """Return the Status of a refusal.

    Args:
        code: HTTP status code.
        message: What was refused and why.
    """
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(HTTPStatus(code), ""),
        "code": code,
    }
