"""The one error tree of Private LLM.

::

    PrivateLLMError
    ├── InvalidInputError          somebody handed us text or an object that breaks a rule
    │   ├── MalformedTokenError
    │   ├── MalformedVerifierError
    │   └── InvalidObjectError     a stored object does not fit its type
    └── KubernetesError            the API server refused or could not be reached
        ├── NotFoundError          404 (reads return None instead)
        ├── AlreadyExistsError     409 on create
        ├── ConflictError          409 on update: somebody else wrote first
        ├── RejectedError          400, 405, 415, 422: the request itself is wrong
        ├── UnauthorizedError      401: our credentials are not accepted
        ├── ForbiddenError         403: RBAC or an admission policy said no
        ├── ExpiredError           410: the watch must start from a new list
        ├── ThrottledError         429: the server asks for patience
        └── UnavailableError       5xx, time-outs, broken connections

Every message states the rule, what we got and, where we know it, what to do about it.
"""

from typing import ClassVar


class PrivateLLMError(Exception):
    """Something went wrong that a person can understand and act upon."""


class InvalidInputError(PrivateLLMError, ValueError):
    """The input breaks a rule that its sender can read in the message."""


class MalformedTokenError(InvalidInputError):
    """The text is not a token of ours; no secret part of it is ever repeated in the message."""


class MalformedVerifierError(InvalidInputError):
    """The Secret is not a verifier that the edge may trust."""


class InvalidObjectError(InvalidInputError):
    """The Kubernetes object does not fit the type that its kind promises."""


class KubernetesError(PrivateLLMError):
    """The API server answered with an error, or did not answer.

    Attributes:
        status: HTTP status code, or 0 when there was no answer.
        reason: The machine-readable reason of the ``Status`` object, or of the transport.
    """

    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NotFoundError(KubernetesError):
    """The object, or its kind, does not exist."""


class AlreadyExistsError(KubernetesError):
    """An object of that name exists already."""


class ConflictError(KubernetesError):
    """The object was changed since it was read, or a precondition does not hold."""

    retryable = True


class RejectedError(KubernetesError):
    """The API server found the request itself to be wrong; sending it again cannot help."""


class UnauthorizedError(KubernetesError):
    """The API server does not accept our credentials (any more)."""

    retryable = True


class ForbiddenError(KubernetesError):
    """RBAC, quota or an admission policy refused the request."""


class ExpiredError(KubernetesError):
    """The resource version is too old for a watch or a continued list."""

    retryable = True


class ThrottledError(KubernetesError):
    """The API server asks its clients to slow down.

    Attributes:
        retry_after: Seconds the server asked us to wait.
    """

    retryable = True

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message, status=429, reason="TooManyRequests")
        self.retry_after = retry_after


class UnavailableError(KubernetesError):
    """The API server could not be reached or failed to answer."""

    retryable = True
