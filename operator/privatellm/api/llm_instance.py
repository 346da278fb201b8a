"""``LLMInstance``: a private LLM that a customer orders.

The type is the contract; the CRD, the reference page and the portal's forms are generated from it. What a
customer may set is here and nothing else: images, arguments and placement belong to the platform.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from privatellm.api.meta import ApiModel, ApiObject
from privatellm.conditions import Condition
from privatellm.kube import kinds

DEFAULT_MODEL = "tinyllama"
NAME_PATTERN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
"""An RFC 1123 subdomain, as object names are."""


class InstancePhase(StrEnum):
    """The phases of an instance, derived from its conditions."""

    PENDING = "Pending"
    PROVISIONING = "Provisioning"
    READY = "Ready"
    DEGRADED = "Degraded"
    STOPPED = "Stopped"
    FAILED = "Failed"
    TERMINATING = "Terminating"


class InstanceCondition(StrEnum):
    """The condition types of an instance."""

    ACCEPTED = "Accepted"
    """The order keeps the platform's rules and limits, and nothing is in its way."""

    MODEL_AVAILABLE = "ModelAvailable"
    """The weights are in place, and are the promised ones where any are promised."""

    ROUTE_PROGRAMMED = "RouteProgrammed"
    """Service, middlewares and Ingress are as wanted, so the edge can know the way."""

    READY = "Ready"
    """Servers answer and nothing is wrong; with the reason ``Rolling`` some are being replaced."""


class DnsPolicy(StrEnum):
    """The DNS policies that are passed through to the pods."""

    CLUSTER_FIRST = "ClusterFirst"
    DEFAULT = "Default"


class ClusterReference(ApiModel):
    """A cluster of the customer's own; refused with a condition until it is implemented."""

    kubeconfig_secret_name: str = Field(
        default="", description="Name of a Secret with a kubeconfig in the same namespace."
    )


class LLMInstanceSpec(ApiModel):
    """What the customer orders."""

    model: Annotated[str, Field(pattern=NAME_PATTERN, max_length=253)] = Field(
        default=DEFAULT_MODEL, description="Name of an LLMModel of the platform's catalogue."
    )
    replicas: int = Field(
        default=1,
        ge=0,
        le=2**31 - 1,
        description=(
            "Model servers to run. 0 stops the instance: its keys stay valid and its endpoint "
            "answers 503."
        ),
    )
    dns_policy: DnsPolicy = Field(
        default=DnsPolicy.CLUSTER_FIRST, description="DNS policy of the model server's pods."
    )
    cluster_ref: ClusterReference | None = Field(
        default=None, description="A cluster of the customer's own. Not supported yet: refused."
    )


class ServedModel(ApiModel):
    """The model that an instance serves."""

    name: str = Field(description="Name of the LLMModel.")
    sha256: str | None = Field(
        default=None, description="Digest of its weights; absent while none is known."
    )


class LLMInstanceStatus(ApiModel):
    """What the operator saw."""

    phase: InstancePhase | None = Field(
        default=None, description="One word for the state, derived from the conditions."
    )
    endpoint: str | None = Field(
        default=None, description="URL of the instance, without the /v1 of the OpenAI API."
    )
    slug: str | None = Field(
        default=None, description="The path segment of the endpoint, derived from the UID."
    )
    replicas: int | None = Field(default=None, description="Model servers that exist.")
    ready_replicas: int | None = Field(default=None, description="Model servers that answer.")
    ready: str | None = Field(default=None, description="Ready and wanted servers, as in 1/2.")
    selector: str | None = Field(
        default=None, description="Label selector of the pods, for the scale subresource."
    )
    model: ServedModel | None = Field(default=None, description="The model that is served.")
    observed_generation: int | None = Field(
        default=None, description="The generation of the spec that this status speaks of."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(), description="Each says in one sentence what is wrong and what to do."
    )


class LLMInstance(ApiObject):
    """A private LLM behind an OpenAI-compatible URL."""

    KIND = kinds.LLM_INSTANCE
    SHORT_NAMES = ("llmi",)
    SCALE: ClassVar[dict[str, str] | None] = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    COLUMNS = (
        {"name": "Model", "type": "string", "jsonPath": ".spec.model"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.ready"},
        {"name": "Endpoint", "type": "string", "jsonPath": ".status.endpoint"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    )

    spec: LLMInstanceSpec = Field(default_factory=LLMInstanceSpec)
    status: LLMInstanceStatus = Field(default_factory=LLMInstanceStatus)
