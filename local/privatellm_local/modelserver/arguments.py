"""The subset of llama-server's command line that our Deployments use, parsed once.

Names, spellings and meaning are llama-server's, so that one list of arguments works for the
container image and for the embedded environment. Anything else is refused by name instead of being
ignored: a flag that silently does nothing here would only show its effect in production.

`--metrics`, `--no-webui` and `--no-slots` are accepted and change nothing, because the launcher
always behaves that way: the drain reads the metrics, and nobody needs the other two.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Never

from typing_extensions import override

from privatellm_local.modelserver.errors import InvalidArgumentsError

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""Element types of the key-value cache that llama-server accepts."""

MAX_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerArguments:
    """What a Deployment asks of the model server; None leaves llama.cpp's own default."""

    model: Path
    """GGUF file to serve."""
    host: str
    port: int
    aliases: tuple[str, ...]
    """Model ids shown to clients; empty shows the file's path."""
    api_key_file: Path | None
    """File with one accepted key a line; None serves without a key."""
    threads: int | None
    """Threads for generation."""
    threads_batch: int | None
    """Threads for prompts; None follows `threads`."""
    threads_http: int | None
    poll: int
    """Busy waiting of compute threads in percent; 0 leaves the cores to the neighbours."""
    parallel: int
    """Requests served at the same time, each with its share of the context."""
    ctx_size: int | None
    """Context of all slots together, in tokens."""
    batch_size: int | None
    ubatch_size: int | None
    n_predict: int | None
    """Upper bound of generated tokens a request."""
    cache_ram: int | None
    """Memory for saved prompts, in MiB; 0 switches them off."""
    cache_type_k: str | None
    cache_type_v: str | None
    flash_attn: str | None
    gpu_layers: int | None
    timeout: int | None
    """Read and write timeout of a connection, in seconds."""
    embeddings: bool
    reranking: bool
    pooling: str | None
    jinja: bool
    chat_template: str | None
    chat_template_file: Path | None
    reasoning: str | None
    reasoning_format: str | None


def parse_arguments(argv: Sequence[str]) -> ServerArguments:
    """Parse llama-server's arguments.

    Args:
        argv: the arguments without the program's name.

    Raises:
        InvalidArgumentsError: an argument is unknown, missing or malformed.
    """
    arguments = ServerArguments(**vars(_parser().parse_args(argv)))
    if arguments.chat_template and arguments.chat_template_file:
        raise InvalidArgumentsError(
            "Give either --chat-template or --chat-template-file, not both."
        )
    return arguments


class SentenceParser(argparse.ArgumentParser):
    """A parser that raises our error instead of printing its usage and leaving."""

    @override
    def error(self, message: str) -> Never:
        """Raise the parser's complaint as one line."""
        reason = " ".join(message.split())
        raise InvalidArgumentsError(
            f"The model server cannot obey its arguments: {reason}. "
            "It knows the llama-server arguments that Private LLM's Deployments use; "
            "correct the model's arguments."
        )


def _parser() -> argparse.ArgumentParser:
    parser = SentenceParser(prog="privatellm_local.modelserver", add_help=False, allow_abbrev=False)
    _add_service(parser)
    _add_compute(parser)
    _add_memory(parser)
    _add_prompting(parser)
    return parser


def _add_service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", "-m", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, required=True)
    parser.add_argument("--alias", "-a", dest="aliases", type=_names, default=())
    parser.add_argument("--api-key-file", type=Path)
    parser.add_argument("--timeout", "-to", type=_positive)
    for spelling in ("--metrics", "--no-webui", "--no-ui", "--no-slots"):
        parser.add_argument(spelling, action=_Always, nargs=0, dest=argparse.SUPPRESS)


def _add_compute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", "-t", type=_positive)
    parser.add_argument("--threads-batch", "-tb", type=_positive)
    parser.add_argument("--threads-http", type=_positive)
    parser.add_argument("--poll", type=_percentage, default=0)
    parser.add_argument("--parallel", "-np", type=_positive, default=1)
    parser.add_argument("--batch-size", "-b", type=_positive)
    parser.add_argument("--ubatch-size", "-ub", type=_positive)
    parser.add_argument("--flash-attn", "-fa", choices=("on", "off", "auto"))
    parser.add_argument("--n-gpu-layers", "--gpu-layers", "-ngl", dest="gpu_layers", type=int)


def _add_memory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ctx-size", "-c", type=_not_negative)
    parser.add_argument("--cache-ram", type=int)
    parser.add_argument("--cache-type-k", "-ctk", choices=CACHE_TYPES)
    parser.add_argument("--cache-type-v", "-ctv", choices=CACHE_TYPES)


def _add_prompting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--n-predict", "--predict", "-n", type=int)
    parser.add_argument("--jinja", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--chat-template")
    parser.add_argument("--chat-template-file", type=Path)
    parser.add_argument("--reasoning", choices=("on", "off", "auto"))
    parser.add_argument(
        "--reasoning-format", choices=("none", "auto", "deepseek", "deepseek-legacy")
    )
    parser.add_argument("--embeddings", "--embedding", action="store_true")
    parser.add_argument("--reranking", "--rerank", action="store_true")
    parser.add_argument("--pooling", choices=("none", "mean", "cls", "last", "rank"))


class _Always(argparse.Action):
    """A flag that asks for what the launcher does anyway."""

    @override
    def __call__(self, *_: object) -> None:
        """Accept the flag without recording it."""


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise argparse.ArgumentTypeError(
            f"one or more names separated by commas are needed, got {text!r}"
        )
    return names


def _between(text: str, lowest: int, highest: int | None) -> int:
    try:
        number = int(text)
    except ValueError:
        number = lowest - 1
    if number < lowest or (highest is not None and number > highest):
        span = f"from {lowest} to {highest}" if highest is not None else f"of {lowest} or more"
        raise argparse.ArgumentTypeError(f"a whole number {span} is needed, got {text!r}")
    return number


def _positive(text: str) -> int:
    return _between(text, 1, None)


def _not_negative(text: str) -> int:
    return _between(text, 0, None)


def _percentage(text: str) -> int:
    return _between(text, 0, 100)


def _port(text: str) -> int:
    return _between(text, 1, MAX_PORT)
