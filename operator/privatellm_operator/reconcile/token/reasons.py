"""Why a request is in the state it is in, and the phase that follows from it."""

from enum import StrEnum

from privatellm.api.api_token_request import TokenPhase


class Reason(StrEnum):
    """The reasons of a token request's ``Ready`` condition."""

    KEY_READY = "KeyReady"
    """The verifier and the Secret are written and the instance was ready or stopped since."""

    INSTANCE_NOT_READY = "InstanceNotReady"
    """The key exists; the instance has not answered for the first time yet."""

    INSTANCE_NOT_FOUND = "InstanceNotFound"
    """There is no instance of the name, or it is being deleted."""

    SECRET_CONFLICT = "SecretConflict"  # noqa: S105 - a reason, not a secret
    """A Secret of the name is not ours; it is never adopted."""

    SECRET_REFUSED = "SecretRefused"  # noqa: S105 - a reason, not a secret
    """The API server does not let us create the Secret: quota, policy, a namespace that goes away."""

    SECRETS_FORBIDDEN = "SecretsForbidden"
    """The operator has no right to Secrets in the namespace: it was not onboarded, or no longer is."""

    QUOTA_EXCEEDED = "QuotaExceeded"
    """The namespace has as many token requests as the platform allows; no key is issued for this one."""

    INVALID_DURATION = "InvalidDuration"
    """A duration of the spec cannot be counted with."""

    EXPIRED = "Expired"
    """The request's time is over."""

    REVOKED = "Revoked"
    """The customer ended the key."""

    TERMINATING = "Terminating"
    """The request is being deleted, or its namespace is; the key is ended."""


def phase_of(reason: Reason) -> TokenPhase:
    """Return the phase that a reason stands for."""
    match reason:
        case Reason.KEY_READY:
            return TokenPhase.READY
        case Reason.INSTANCE_NOT_READY | Reason.INSTANCE_NOT_FOUND:
            return TokenPhase.PENDING
        case (
            Reason.SECRET_CONFLICT
            | Reason.SECRET_REFUSED
            | Reason.SECRETS_FORBIDDEN
            | Reason.QUOTA_EXCEEDED
            | Reason.INVALID_DURATION
        ):
            return TokenPhase.FAILED
        case Reason.EXPIRED:
            return TokenPhase.EXPIRED
        case Reason.REVOKED | Reason.TERMINATING:
            return TokenPhase.REVOKED
