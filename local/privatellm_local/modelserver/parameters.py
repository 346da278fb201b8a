"""How the arguments are told to xllamacpp: the one module that touches the library.

The library is loaded when it is needed and not before, because it drags in the C++ server and the
system's OpenMP runtime: a missing libgomp must become one line with its remedy, and an exec into a
real `llama-server` must not pay for it.

xllamacpp cannot switch off every endpoint that our edge blocks: with the key, `/props`,
`/lora-adapters`, `/tokenize`, `/apply-template` and `/infill` still answer. The edge's allow-list
is what keeps them from tenants.
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, TypeAlias

from privatellm_local.modelserver.arguments import ServerArguments
from privatellm_local.modelserver.errors import ModelServerError

LIBRARY = "xllamacpp"

# The extension module ships no type information; the names say at least what is meant.
CommonParams: TypeAlias = Any
Server: TypeAlias = Any

_PLAIN_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "ctx_size": "n_ctx",
        "batch_size": "n_batch",
        "ubatch_size": "n_ubatch",
        "n_predict": "n_predict",
        "threads_http": "n_threads_http",
        "cache_ram": "cache_ram_mib",
        "gpu_layers": "n_gpu_layers",
        "timeout": "timeout_read",
    }
)
"""Arguments that are one number there and here: our field, their attribute."""

_FLASH_ATTENTION = MappingProxyType({"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"})
_REASONING = MappingProxyType({"on": 1, "off": 0, "auto": -1})


def load_library() -> ModuleType:
    """Import xllamacpp.

    Raises:
        ModelServerError: it is not installed, or a system library it needs is missing.
    """
    try:
        return importlib.import_module(LIBRARY)
    except ImportError as error:
        raise ModelServerError(_import_failure(str(error))) from error


def _import_failure(reason: str) -> str:
    if "libgomp" in reason:
        return (
            "llama.cpp needs the OpenMP runtime libgomp.so.1, which this system does not have; "
            "install it with: apt-get install libgomp1 (Fedora: dnf install libgomp)."
        )
    if f"No module named '{LIBRARY}'" in reason:
        return (
            f"There is no llama-server on the search path and the Python package {LIBRARY} is "
            "not installed; install one with: pip install 'private-llm[local]'."
        )
    return f"The Python package {LIBRARY} cannot be loaded ({reason}); reinstall it."


def read_api_keys(path: Path) -> list[str]:
    """Read the accepted keys, one a line; empty lines and lines that start with # do not count.

    Raises:
        ModelServerError: the file cannot be read or holds no key. A server that was meant to
            check keys must never start without one.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelServerError(
            f"The API key file {path} cannot be read ({error}); check the Secret's mount."
        ) from error
    keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not keys:
        raise ModelServerError(
            f"The API key file {path} holds no key; write one key a line into it."
        )
    return keys


def build_parameters(library: ModuleType, arguments: ServerArguments) -> CommonParams:
    """Translate the arguments into the library's `CommonParams`."""
    parameters = library.CommonParams()
    parameters.model.path = str(arguments.model)
    _set_service(parameters, arguments)
    _set_threads(parameters, arguments)
    _set_prompting(library, parameters, arguments)
    _set_choices(library, parameters, arguments)
    for ours, theirs in _PLAIN_SETTINGS.items():
        value = getattr(arguments, ours)
        if value is not None:
            setattr(parameters, theirs, value)
    return parameters


def _set_service(parameters: CommonParams, arguments: ServerArguments) -> None:
    parameters.hostnames = [arguments.host]
    parameters.port = arguments.port
    parameters.n_parallel = arguments.parallel
    if arguments.aliases:
        parameters.model_alias = set(arguments.aliases)
    if arguments.api_key_file is not None:
        parameters.api_keys = read_api_keys(arguments.api_key_file)
    if arguments.timeout is not None:
        parameters.timeout_write = arguments.timeout
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = False
    parameters.endpoint_props = False
    parameters.ui = False


def _set_threads(parameters: CommonParams, arguments: ServerArguments) -> None:
    threads = arguments.threads
    for pool, count in (
        (parameters.cpuparams, threads),
        (parameters.cpuparams_batch, arguments.threads_batch or threads),
    ):
        pool.poll = arguments.poll
        if count is not None:
            pool.n_threads = count


def _set_prompting(
    library: ModuleType, parameters: CommonParams, arguments: ServerArguments
) -> None:
    parameters.use_jinja = arguments.jinja
    template = arguments.chat_template
    if arguments.chat_template_file is not None:
        template = _read_template(arguments.chat_template_file)
    if template:
        parameters.chat_template = template
    if arguments.reasoning is not None:
        parameters.enable_reasoning = _REASONING[arguments.reasoning]
    if arguments.reasoning_format is not None:
        member = arguments.reasoning_format.upper().replace("-", "_")
        parameters.reasoning_format = getattr(
            library.common_reasoning_format, f"COMMON_REASONING_FORMAT_{member}"
        )


def _set_choices(library: ModuleType, parameters: CommonParams, arguments: ServerArguments) -> None:
    for name in ("cache_type_k", "cache_type_v"):
        choice = getattr(arguments, name)
        if choice is not None:
            setattr(
                parameters,
                name,
                getattr(library.ggml_type, f"GGML_TYPE_{choice.upper()}"),
            )
    if arguments.flash_attn is not None:
        member = f"LLAMA_FLASH_ATTN_TYPE_{_FLASH_ATTENTION[arguments.flash_attn]}"
        parameters.flash_attn_type = getattr(library.llama_flash_attn_type, member)
    parameters.embedding = arguments.embeddings or arguments.reranking
    # llama-server's --reranking is an embedding server whose pooling is rank.
    pooling = "rank" if arguments.reranking else arguments.pooling
    if pooling is not None:
        member = f"LLAMA_POOLING_TYPE_{pooling.upper()}"
        parameters.pooling_type = getattr(library.llama_pooling_type, member)


def _read_template(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelServerError(
            f"The chat template {path} cannot be read ({error}); check the mount."
        ) from error


def start_server(library: ModuleType, parameters: CommonParams) -> Server:
    """Start the HTTP server and return once the model is loaded.

    The call holds Python's global lock while the model loads; the C++ server already answers 503
    to probes then.

    Raises:
        ModelServerError: llama.cpp refused; its own log lines say why.
    """
    try:
        return library.Server(parameters)
    except RuntimeError as error:
        raise ModelServerError(
            f"llama.cpp could not start with {parameters.model.path}: {error} "
            "Its own log lines name the cause."
        ) from error
