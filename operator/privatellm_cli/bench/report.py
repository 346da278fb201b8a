"""A benchmark's figures for people and for programs. Pure."""

from collections.abc import Iterable
from typing import Any

from privatellm_cli.bench.statistics import Run
from privatellm_cli.output import grid

_HEADINGS = (
    "CONCURRENCY",
    "REQUESTS",
    "FAILED",
    "TOKENS/S",
    "TOKENS/S EACH",
    "FIRST TOKEN P50",
    "P95",
    "P99",
    "LATENCY P50",
    "P95",
    "P99",
)


def table(runs: Iterable[Run]) -> str:
    """Return a line a concurrency, and what failed requests ended with below."""
    seen = [run.figures() for run in runs]
    text = grid([_HEADINGS, *map(_row, seen)])
    failures = [
        f"{figures['concurrency']} at once, {count} times: {message}"
        for figures in seen
        for message, count in figures["failures"].items()
    ]
    return "\n".join((text, *(["", *failures] if failures else [])))


def document(instance: str, model: str, max_tokens: int, runs: Iterable[Run]) -> dict[str, Any]:
    """Return the figures with what they were measured on."""
    return {
        "instance": instance,
        "model": model,
        "maxTokens": max_tokens,
        "runs": [run.figures() for run in runs],
    }


def _row(figures: dict[str, Any]) -> list[str]:
    times = (*figures["timeToFirstToken"].values(), *figures["latency"].values())
    return [
        str(figures["concurrency"]),
        str(figures["requests"]),
        str(figures["failed"]),
        _number(figures["tokensPerSecond"]),
        _number(figures["tokensPerSecondOfARequest"]),
        *map(_milliseconds, times),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.0f} ms"
