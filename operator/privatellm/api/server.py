"""How a model server is run: the settings of an ``LLMModel`` that are about the server, not the weights.

A setting that is absent is left to the platform or to llama.cpp. What is not here can still be said by
``extraArguments``; what is here is checked before it reaches a server.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from privatellm.api.meta import ApiModel


class CacheType(StrEnum):
    """Element types of the key-value cache, as llama.cpp names them."""

    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    Q8_0 = "q8_0"
    Q5_1 = "q5_1"
    Q5_0 = "q5_0"
    Q4_1 = "q4_1"
    Q4_0 = "q4_0"
    IQ4_NL = "iq4_nl"


class FlashAttention(StrEnum):
    """Whether attention is computed block by block."""

    ON = "on"
    OFF = "off"
    AUTO = "auto"


class Gpu(ApiModel):
    """Devices of which each server gets some for itself."""

    resource: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$", max_length=200)] = (
        Field(default="nvidia.com/gpu", description="Resource name of the device plugin.")
    )
    count: int = Field(default=1, ge=1, le=64, description="Devices of each server.")
    layers: int | None = Field(
        default=None, ge=0, description="Layers of the model on the devices; absent: all of them."
    )


class Server(ApiModel):
    """How llama.cpp is run; an absent field leaves the choice to the platform or to llama.cpp."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "!(has(self.embeddings) && self.embeddings && has(self.reranking) && self.reranking)",  # noqa: E501 - CEL has no line breaks
                    "message": "a server either makes embeddings or ranks; set one of the two",
                },
                {
                    "rule": "!has(self.cacheTypeV) || self.cacheTypeV in ['f32', 'f16', 'bf16'] || !has(self.flashAttention) || self.flashAttention != 'off'",  # noqa: E501 - as above
                    "message": "a quantized cacheTypeV needs flash attention; do not switch it off",
                },
            ]
        },
    )

    image: Annotated[str, Field(pattern=r"^\S+$", max_length=500)] | None = Field(
        default=None,
        description="Image of the server where the platform's own does not fit, as for a GPU.",
    )
    threads: int | None = Field(
        default=None, ge=1, le=1024, description="Threads; absent: one for each requested CPU."
    )
    cache_type_k: CacheType | None = Field(
        default=None, description="Element type of cached keys; absent: f16."
    )
    cache_type_v: CacheType | None = Field(
        default=None, description="Element type of cached values; absent: f16."
    )
    flash_attention: FlashAttention | None = Field(
        default=None, description="Whether attention is computed block by block; absent: auto."
    )
    embeddings: bool = Field(default=False, description="Serve /v1/embeddings and nothing else.")
    reranking: bool = Field(default=False, description="Serve /v1/rerank and nothing else.")
    prompt_cache_mebibytes: int | None = Field(
        default=None,
        ge=0,
        description="Memory for saved prompts in MiB; absent: a share of the memory limit.",
    )
