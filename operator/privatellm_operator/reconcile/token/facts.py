"""What a pass over one token request knows before it decides: frozen values, everything already fetched.

Nothing here is trusted further than its writer. The request's spec says what is wanted; its status and the
customer's Secret can be written by the tenant and are only ever *compared* with what the verifiers in the
token namespace say; no verifier is ever made from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from privatellm.api.api_token_request import APITokenRequest
from privatellm.api.llm_instance import InstancePhase
from privatellm.durations import parse_duration
from privatellm.names import endpoint_of, slug_of
from privatellm.verifiers import Verifier
from privatellm_operator.settings import Settings


@dataclass(frozen=True, slots=True)
class TokenPolicy:
    """What the platform team decided about keys.

    Attributes:
        token_namespace: Where verifiers live, out of every tenant's reach.
        scheme: ``http`` or ``https``, as customers reach the edge.
        public_host: ``host`` or ``host:port`` of the edge.
        longest_lifetime: The most a request may ask for; it also holds for a request that asks for no
            end. ``None`` sets no limit.
        most_requests: Requests of one namespace that may have a key; the older ones keep their place.
            ``None`` sets no limit.
    """

    token_namespace: str
    scheme: str
    public_host: str
    longest_lifetime: timedelta | None = None
    most_requests: int | None = None

    @classmethod
    def of(cls, settings: Settings) -> "TokenPolicy":
        """Return the policy that the settings state.

        Raises:
            InvalidInputError: when the longest life of a key is no duration.
        """
        longest = settings.tokens.longest_token_life
        return cls(
            token_namespace=settings.tokens.token_namespace,
            scheme=settings.public.scheme,
            public_host=settings.public.host,
            longest_lifetime=parse_duration(longest) if longest else None,
            most_requests=settings.caps.max_token_requests,
        )

    def endpoint(self, instance_uid: str) -> str:
        """Return the URL of an instance; it is derived from the UID, so it is known at once."""
        return endpoint_of(self.scheme, self.public_host, slug_of(instance_uid))


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """The instance that the request names, as far as a key depends on it.

    An instance that is being deleted is no instance any more: gathering leaves it out, so that a pass
    which runs while the instance's finalizer revokes its keys does not issue another one.
    """

    uid: str
    phase: InstancePhase | None

    @property
    def settled(self) -> bool:
        """Whether the first key may be called ready: the instance answers, or was stopped on purpose."""
        return self.phase in (InstancePhase.READY, InstancePhase.STOPPED)


@dataclass(frozen=True, slots=True)
class NoSecret:
    """There is no Secret of the name.

    Attributes:
        refusal: Why the API server would not let us create it (quota, policy, a namespace that goes
            away), found by a dry run; empty when it would.
    """

    refusal: str = ""


@dataclass(frozen=True, slots=True)
class ForeignSecret:
    """There is a Secret of the name that we must not or cannot write.

    Attributes:
        fault: Why, as the end of a sentence that starts with the Secret's name.
    """

    fault: str


@dataclass(frozen=True, slots=True)
class OwnSecret:
    """The Secret that belongs to this request.

    Attributes:
        manifest: The stored object; it holds a plaintext, so it is never printed.
        held_key_id: The key id of the live verifier against which the Secret's key verifies, if any.
    """

    manifest: Mapping[str, Any] = field(repr=False)
    held_key_id: str | None


@dataclass(frozen=True, slots=True)
class HiddenSecret:
    """Whether there is a Secret, and what it holds, cannot be known: we have no right to look.

    Attributes:
        fault: What the API server said.
    """

    fault: str


SecretFacts = NoSecret | HiddenSecret | ForeignSecret | OwnSecret


@dataclass(frozen=True, slots=True)
class TokenWorld:
    """Everything one decision needs.

    Attributes:
        request: The token request.
        instance: The instance it names, unless that is absent or being deleted.
        verifiers: The live verifiers that carry the request's UID.
        damaged: Names of Secrets with the request's UID that the edge cannot read as verifiers.
        secret: The state of the customer's Secret.
        now: The time of the pass, aware and in UTC.
        older_siblings: Requests of the namespace that were there before this one; 0 where no limit is set.
        last_used: When a key of the request was last used, as far as the edge said lately.
        namespace_leaves: Whether the namespace is being deleted with all that is in it.
    """

    request: APITokenRequest
    instance: InstanceFacts | None
    verifiers: tuple[Verifier, ...]
    damaged: tuple[str, ...]
    secret: SecretFacts
    now: datetime
    older_siblings: int = 0
    last_used: datetime | None = None
    namespace_leaves: bool = False
