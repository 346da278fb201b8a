"""``privatellm bench``: how fast a private LLM is, measured through the edge."""

from typing import Annotated

import typer

from privatellm_cli import access
from privatellm_cli.cluster import Target
from privatellm_cli.errors import EndpointError, UsageError
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.options import InstanceArgument, OutputOption, on_cluster
from privatellm_cli.output import Format, document
from privatellm_cli.running import run

PROMPT = "Describe the sea in a few sentences."
MOST_AT_ONCE = 256
MOST_REQUESTS = 10_000


@on_cluster
def bench(
    target: Target,
    name: InstanceArgument,
    *,
    concurrency: Annotated[
        str,
        typer.Option(
            "--concurrency", metavar="N,N", help="Requests at the same time, one run each."
        ),
    ] = "1,2,4",
    requests: Annotated[
        int, typer.Option("--requests", metavar="N", min=1, max=MOST_REQUESTS, help="In each run.")
    ] = 8,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", metavar="N", min=1, help="After that a run begins no further request."
        ),
    ] = 60.0,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", min=1, help="Longest answer, in tokens.")
    ] = 32,
    prompt: Annotated[str, typer.Option("--prompt", help="What is asked.")] = PROMPT,
    output: OutputOption = Format.TABLE,
) -> ExitCode:
    """Measure tokens a second, time to the first token and latencies.

    Every request counts against the limits of the key and takes time from others who use the instance.
    """
    # Needs httpx, which the other commands do without.
    from privatellm_cli.bench import report, session  # noqa: PLC0415
    from privatellm_cli.bench.measuring import Load  # noqa: PLC0415

    levels = levels_of(concurrency)
    found = access.find(target, name)
    load = Load(found.model, prompt, max_tokens, requests, seconds)
    runs = run(session.measure(found, load, levels))
    if output.is_document:
        typer.echo(document(report.document(name, found.model, max_tokens, runs), output))
    else:
        typer.echo(report.table(runs))
    if not any(seen.samples for seen in runs):
        raise EndpointError("No request was answered; the lines above say why.")
    return ExitCode.OK


def levels_of(text: str) -> tuple[int, ...]:
    """Return the concurrencies that ``1,2,4`` stands for.

    Raises:
        UsageError: when one is no number from 1 to 256.
    """
    try:
        levels = tuple(int(word) for word in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(1 <= level <= MOST_AT_ONCE for level in levels):
        raise UsageError(
            f"--concurrency takes numbers from 1 to {MOST_AT_ONCE} with commas between them, such as "
            f"1,2,4; got {text!r}."
        )
    return levels
