"""The arguments of the model server."""

import math
from collections.abc import Mapping

from privatellm.api.arguments import platform_arguments_among
from privatellm.api.llm_model import LLMModel, Quantity
from privatellm.api.server import Gpu
from privatellm_operator.render.key_secret import FILE
from privatellm_operator.render.memory import prompt_cache_mebibytes
from privatellm_operator.render.quantities import parse_quantity
from privatellm_operator.render.service import HTTP_PORT
from privatellm_operator.render.source import model_path

KEYS_DIRECTORY = "/keys"

ALL_LAYERS = 999
"""More layers than any model has: all of them."""


def server_arguments(model: LLMModel) -> list[str]:
    """Return the server's arguments; the platform's own further ones come last."""
    spec = model.spec
    return [
        *("--model", model_path(model)),
        *("--host", "$(POD_IP)"),
        *("--port", str(HTTP_PORT)),
        *("--alias", model.metadata.name),
        "--metrics",
        *("--api-key-file", f"{KEYS_DIRECTORY}/{FILE}"),
        "--no-webui",
        "--no-slots",
        *("--threads", str(threads(model))),
        # A polling thread burns the processor that another server on the node waits for.
        *("--poll", "0"),
        *("--parallel", str(spec.parallel)),
        *("--ctx-size", str(spec.context_size)),
        *_option("--cache-ram", prompt_cache_mebibytes(model)),
        *_option("--cache-type-k", spec.server.cache_type_k),
        *_option("--cache-type-v", spec.server.cache_type_v),
        *_option("--flash-attn", spec.server.flash_attention),
        *_option("--n-gpu-layers", _gpu_layers(spec.gpu)),
        *(["--embeddings"] if spec.server.embeddings else []),
        *(["--reranking"] if spec.server.reranking else []),
        *_template(spec.chat_template),
        *(escaped(argument) for argument in spec.extra_arguments),
    ]


def overreaching(model: LLMModel) -> str:
    """Return which of a model's further arguments are not its to set; empty when all are.

    The API server refuses such a model; one that was stored before that rule is met here.
    """
    taken = ", ".join(dict.fromkeys(platform_arguments_among(model.spec.extra_arguments)))
    if not taken:
        return ""
    return (
        f"LLMModel {model.metadata.name} gives {taken} in spec.extraArguments, which the platform sets "
        "itself. Remove it."
    )


def threads(model: LLMModel) -> int:
    """Return the model's own number, else one thread for each processor that the server asks for."""
    if model.spec.server.threads is not None:
        return model.spec.server.threads
    resources = model.spec.resources
    cpu = _cpu(resources.requests) or _cpu(resources.limits) or 1
    return max(1, math.ceil(parse_quantity(cpu)))


def escaped(text: str) -> str:
    """Return the text so that Kubernetes does not take a part of it for a variable."""
    return text.replace("$(", "$$(")


def _cpu(quantities: Mapping[str, Quantity]) -> Quantity | None:
    return quantities.get("cpu")


def _option(name: str, value: int | str | None) -> list[str]:
    return [] if value is None else [name, str(value)]


def _gpu_layers(gpu: Gpu | None) -> int | None:
    if gpu is None:
        return None
    return ALL_LAYERS if gpu.layers is None else gpu.layers


def _template(chat_template: str | None) -> list[str]:
    if chat_template is None:
        return []
    return ["--jinja", "--chat-template", escaped(chat_template)]
