"""``APITokenRequest``: a key to one instance, delivered as a Secret.

The request never holds the key. ``status.keyID`` is its public part, which the operator reserves here
before it writes anything else, so that a crash leaves nothing usable behind.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from privatellm import durations
from privatellm.api.llm_instance import NAME_PATTERN
from privatellm.api.meta import ApiModel, ApiObject
from privatellm.conditions import Condition
from privatellm.kube import kinds

Duration = Annotated[str, Field(pattern=durations.PATTERN, max_length=64)]


class TokenPhase(StrEnum):
    """The phases of a token request."""

    PENDING = "Pending"
    READY = "Ready"
    EXPIRED = "Expired"
    REVOKED = "Revoked"
    FAILED = "Failed"


class TokenCondition(StrEnum):
    """The condition types of a token request."""

    READY = "Ready"
    """The key is in its Secret and the edge knows it; the instance has been ready or stopped since."""


class Rotation(ApiModel):
    """When the key is replaced by itself."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "duration(self.every) >= duration('1h')",
                    "message": "rotation.every must be 1h or more",
                },
                {
                    "rule": "!has(self.overlap) || duration(self.overlap) <= duration(self.every)",
                    "message": "rotation.overlap must not be longer than rotation.every",
                },
            ]
        },
    )

    every: Duration = Field(description="How long a key lives before the next one is minted.")
    overlap: Duration | None = Field(
        default=None, description="How long the old key still works; absent: not at all."
    )


class APITokenRequestSpec(ApiModel):
    """What the customer asks for."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "!(has(oldSelf.revoked) && oldSelf.revoked) || (has(self.revoked) && self.revoked)",  # noqa: E501 - CEL has no line breaks
                    "message": "a revoked key stays revoked; create another APITokenRequest",
                },
                {
                    "rule": "!has(self.expiresAfter) || duration(self.expiresAfter) > duration('0s')",
                    "message": "expiresAfter must be longer than zero",
                },
            ]
        },
    )

    instance_name: Annotated[str, Field(min_length=1, max_length=253, pattern=NAME_PATTERN)] = (
        Field(
            description="Name of the LLMInstance in this namespace; cannot be changed.",
            json_schema_extra={
                "x-kubernetes-validations": [
                    {
                        "rule": "self == oldSelf",
                        "message": "instanceName is immutable; create another APITokenRequest",
                    }
                ]
            },
        )
    )
    description: str = Field(
        default="", max_length=256, description="What the key is for, in the customer's words."
    )
    expires_after: Duration | None = Field(
        default=None, description="How long the key works, such as 720h; absent: for ever."
    )
    rotation: Rotation | None = Field(default=None, description="Replace the key regularly.")
    revoked: bool = Field(default=False, description="Set to true to end the key; one-way.")


class APITokenRequestStatus(ApiModel):
    """What the operator saw."""

    phase: TokenPhase | None = Field(default=None, description="One word for the state of the key.")
    secret_name: str | None = Field(
        default=None, description="The Secret with OPENAI_API_KEY and the URLs."
    )
    key_id: str | None = Field(
        default=None, alias="keyID", description="The public part of the current key."
    )
    issued_at: str | None = Field(default=None, description="When the current key was minted.")
    expires_at: str | None = Field(default=None, description="When the current key ends.")
    last_used_at: str | None = Field(
        default=None, description="When the key was last seen at the edge, to the minute or so."
    )
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that this status speaks of."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(), description="Each says in one sentence what is wrong and what to do."
    )


class APITokenRequest(ApiObject):
    """A key to one LLMInstance."""

    KIND = kinds.API_TOKEN_REQUEST
    SHORT_NAMES = ("llmt",)
    COLUMNS = (
        {"name": "Instance", "type": "string", "jsonPath": ".spec.instanceName"},
        {"name": "Secret", "type": "string", "jsonPath": ".status.secretName"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Expires", "type": "string", "jsonPath": ".status.expiresAt"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    )

    spec: APITokenRequestSpec
    status: APITokenRequestStatus = Field(default_factory=APITokenRequestStatus)
