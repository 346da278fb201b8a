"""``LLMModel``: one entry of the platform's catalogue.

Cluster-scoped and owned by the platform team: tenants choose a model by its name and nothing else, so
sources, arguments, limits and placement are set here by people whom the platform trusts.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from privatellm.api.arguments import LONGEST_ARGUMENT, MOST_ARGUMENTS, argument_rule
from privatellm.api.meta import ApiModel, ApiObject
from privatellm.api.server import Gpu, Server
from privatellm.conditions import Condition
from privatellm.kube import kinds

Quantity = int | str
"""A Kubernetes quantity, such as ``500m`` or ``4Gi``."""

SHA256_PATTERN = r"^[0-9a-f]{64}$"


class Runtime(StrEnum):
    """The model servers that can be asked for."""

    LLAMA_CPP = "llama.cpp"


class HuggingFaceSource(ApiModel):
    """A file of a repository on a hub that speaks Hugging Face's protocol."""

    repo: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$", max_length=200)] = (
        Field(description="Repository, as owner/name.")
    )
    file: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$", max_length=500)] = (
        Field(description="Path of the GGUF file in the repository.")
    )
    revision: str = Field(
        default="main", max_length=200, description="Branch, tag or commit; pin a commit."
    )


class PvcSource(ApiModel):
    """A file on a claim in the instance's namespace."""

    claim_name: str = Field(max_length=253, description="Name of the PersistentVolumeClaim.")
    path: str = Field(max_length=500, description="Path of the GGUF file on the volume.")


class S3Source(ApiModel):
    """An object in a bucket that answers unsigned HTTPS requests."""

    endpoint: Annotated[str, Field(pattern=r"^https?://", max_length=500)] = Field(
        description="URL of the service, such as https://s3.example.com."
    )
    bucket: str = Field(max_length=63, description="Name of the bucket.")
    key: str = Field(max_length=1024, description="Key of the GGUF object.")


class ModelSource(ApiModel):
    """Where the weights come from; exactly one of the fields is set."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "[has(self.huggingFace), has(self.url), has(self.pvc), has(self.s3)].filter(x, x).size() == 1",  # noqa: E501 - CEL has no line breaks
                    "message": "set exactly one of huggingFace, url, pvc and s3",
                }
            ]
        },
    )

    hugging_face: HuggingFaceSource | None = None
    url: Annotated[str, Field(pattern=r"^(https?|file)://", max_length=2000)] | None = Field(
        default=None, description="URL of the GGUF file; file:// only where the platform allows it."
    )
    pvc: PvcSource | None = None
    s3: S3Source | None = None


class Resources(ApiModel):
    """What a model server's container asks for."""

    requests: dict[str, Quantity] = Field(
        default_factory=dict, description="What a node must have free for each server, by resource."
    )
    limits: dict[str, Quantity] = Field(
        default_factory=dict, description="What each server may use at most, by resource."
    )


class Limits(ApiModel):
    """What one key may do; enforced at the edge."""

    requests_per_minute: int | None = Field(
        default=None,
        ge=1,
        description="Requests a minute and key; a second's share may come at once.",
    )
    concurrent_requests: int | None = Field(
        default=None, ge=1, description="Requests at the same time and key."
    )


class LLMModelSpec(ApiModel):
    """One model and how it is served."""

    source: ModelSource = Field(description="Where the weights come from.")
    sha256: Annotated[str, Field(pattern=SHA256_PATTERN)] | None = Field(
        default=None, description="Digest of the GGUF file; absent: recorded on first use."
    )
    size_bytes: int | None = Field(
        default=None, ge=1, description="Size of the GGUF file in bytes."
    )
    license: str = Field(
        default="", max_length=200, description="Licence of the weights, for the people who order."
    )
    display_name: str = Field(default="", max_length=100, description="Name shown in portals.")
    quantization: str = Field(default="", max_length=50, description="Such as Q4_K_M.")
    context_size: int = Field(default=4096, ge=128, description="Tokens of context in total.")
    parallel: int = Field(default=1, ge=1, le=256, description="Requests served at once.")
    chat_template: str | None = Field(
        default=None, max_length=20000, description="Jinja template, for models without their own."
    )
    resources: Resources = Field(default_factory=Resources)
    server: Server = Field(default_factory=Server)
    gpu: Gpu | None = Field(default=None, description="Devices of each server; absent: none.")
    node_class: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)] = (
        Field(
            default="default",
            description="Which of the platform's node classes the servers run on.",
        )
    )
    limits: Limits = Field(default_factory=Limits)
    allowed_namespaces: tuple[str, ...] = Field(
        default=(), description="Namespaces that may use the model; empty: all."
    )
    runtime: Runtime = Field(default=Runtime.LLAMA_CPP, description="The model server.")
    extra_arguments: tuple[Annotated[str, Field(max_length=LONGEST_ARGUMENT)], ...] = Field(
        default=(),
        max_length=MOST_ARGUMENTS,
        description=(
            "Further arguments of the model server, one word each; what the platform sets itself is "
            "refused."
        ),
        json_schema_extra={"x-kubernetes-validations": [argument_rule()]},
    )


class ModelCondition(StrEnum):
    """The types of an LLMModel's conditions."""

    DIGEST_KNOWN = "DigestKnown"
    """Every fetch can be checked: the digest is declared, or was recorded on first use."""

    FETCHABLE = "Fetchable"
    """Present while the platform fills nodes' caches: whether its fetches end well."""

    REMOVABLE = "Removable"
    """Present while somebody wants the model deleted: whether no instance uses it any more."""


class LLMModelStatus(ApiModel):
    """What the operator recorded."""

    sha256: str | None = Field(default=None, description="Digest seen on first use.")
    size_bytes: int | None = Field(default=None, description="Size seen on first use, in bytes.")
    recorded_for: str | None = Field(
        default=None,
        description="Digest of the source that sha256 was recorded for; another source, another record.",
    )
    conditions: tuple[Condition, ...] = Field(
        default=(), description="Each says in one sentence what is wrong and what to do."
    )


class LLMModel(ApiObject):
    """A model that customers can order."""

    KIND = kinds.LLM_MODEL
    SHORT_NAMES = ("llmm",)
    COLUMNS = (
        {"name": "Display name", "type": "string", "jsonPath": ".spec.displayName"},
        {"name": "Quantization", "type": "string", "jsonPath": ".spec.quantization"},
        {"name": "License", "type": "string", "jsonPath": ".spec.license"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    )

    spec: LLMModelSpec
    status: LLMModelStatus = Field(default_factory=LLMModelStatus)
