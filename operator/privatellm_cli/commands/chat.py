"""``privatellm chat``: talk to a private LLM through the edge."""

import sys
from typing import Annotated, Any

import typer

from privatellm_cli import access
from privatellm_cli.cluster import Target
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import InstanceArgument, on_cluster
from privatellm_cli.running import InterruptedByUserError

MessageOption = Annotated[
    str | None,
    typer.Option("-m", "--message", help="Ask this one thing and end.", show_default=False),
]

TemperatureOption = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="T",
        min=0,
        help="0 for the likeliest words.",
        show_default=False,
    ),
]

MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=1,
        help="Longest answer, in tokens.",
        show_default=False,
    ),
]

StopOption = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        help="Text that ends an answer, \\n for a new line; may be repeated.",
        show_default=False,
    ),
]


@on_cluster
def chat(
    target: Target,
    name: InstanceArgument,
    *,
    message: MessageOption = None,
    system: Annotated[
        str, typer.Option("--system", help="What the model is told first.", show_default=False)
    ] = "",
    temperature: TemperatureOption = None,
    max_tokens: MaxTokensOption = None,
    stop: StopOption = None,
) -> ExitCode:
    """Talk to a private LLM; the answer appears as it is written."""
    # Needs httpx, which the other commands do without.
    import httpx  # noqa: PLC0415

    from privatellm_cli.conversation import Conversation, answer_lines, talk  # noqa: PLC0415
    from privatellm_cli.endpoint import TIMEOUT, Endpoint, trusts_environment  # noqa: PLC0415

    found = access.find(target, name)
    options = _options(found.model, temperature, max_tokens, stop)
    with httpx.Client(timeout=TIMEOUT, trust_env=trusts_environment(found.base_url)) as client:
        conversation = Conversation(
            client, Endpoint(found.base_url, found.key), options, system=system
        )
        try:
            if message is not None:
                conversation.ask(message, sys.stdout)
            elif sys.stdin.isatty():
                talk(conversation)
            else:
                answer_lines(conversation, sys.stdin)
        except KeyboardInterrupt as error:
            # Typer would end without a word.
            raise InterruptedByUserError("Interrupted.") from error
    return ExitCode.OK


def _options(
    model: str, temperature: float | None, max_tokens: int | None, stop: list[str] | None
) -> dict[str, Any]:
    wanted = {
        "model": model,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "stop": [text.replace("\\n", "\n") for text in stop] if stop else None,
    }
    return {name: value for name, value in wanted.items() if value is not None}
