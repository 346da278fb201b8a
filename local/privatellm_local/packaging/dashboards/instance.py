"""One instance: is it there, how fast is it, and who waits?"""

from typing import Final

from privatellm.telemetry.families import Family
from privatellm.telemetry.families import operator as families
from privatellm_local.packaging.dashboards.dashboard import (
    Choice,
    Dashboard,
    Panel,
    Query,
    Unit,
    View,
)
from privatellm_local.packaging.dashboards.queries import (
    EDGE_NAMESPACE,
    TRAEFIK_SERVICE_REQUESTS,
    TRAEFIK_SERVICE_SECONDS,
    foreign_quantile,
    foreign_rate,
    highest,
    rate,
    release,
)

_THIS: Final = 'llm_namespace="$llm_namespace", llm_instance="$llm_instance"'
_THERE: Final = 'namespace="$namespace"'
_AT_THE_EDGE: Final = 'service=~".+-e-$llm_port@.+"'
"""Traefik joins namespace, Service and port; only the port tells instances apart whose names join alike."""


def _each(tokens: Family, seconds: Family, legend: str) -> Query:
    """Return how many tokens a server handles in a second of its work."""
    return Query(
        f"{rate(tokens, where=_THIS).expression} / {rate(seconds, where=_THIS).expression}", legend
    )


_STATE: Final = (
    Panel(
        "What it is",
        "Path, model and phase.",
        (highest(families.INSTANCE_INFO, "slug", "model", "phase", where=_THIS),),
        view=View.TABLE,
    ),
    Panel(
        "Servers",
        "Ordered, answering, and those whose figures are shown here.",
        (
            highest(families.WANTED_REPLICAS, where=_THIS, legend="wanted"),
            highest(families.READY_REPLICAS, where=_THIS, legend="ready"),
            highest(families.MODEL_SCRAPED, where=_THIS, legend="asked"),
        ),
    ),
)

_WORK: Final = (
    Panel(
        "Requests",
        "Deferred ones wait for a slot: more replicas or slots help.",
        (
            highest(families.MODEL_PROCESSING, where=_THIS, legend="processing"),
            highest(families.MODEL_DEFERRED, where=_THIS, legend="deferred"),
        ),
    ),
    Panel(
        "Tokens",
        "Of all servers together.",
        (
            rate(families.MODEL_PROMPT_TOKENS, where=_THIS, legend="prompt"),
            rate(families.MODEL_GENERATED_TOKENS, where=_THIS, legend="generated"),
        ),
        Unit.PER_SECOND,
    ),
    Panel(
        "Speed",
        "Tokens in a second of work: how fast the hardware is with this model.",
        (
            _each(families.MODEL_PROMPT_TOKENS, families.MODEL_PROMPT_SECONDS, "prompt"),
            _each(families.MODEL_GENERATED_TOKENS, families.MODEL_GENERATION_SECONDS, "generation"),
        ),
        Unit.PER_SECOND,
    ),
)

_EDGE: Final = (
    Panel(
        "Requests let in",
        "By the check, with whichever key, and by the order that the key came from.",
        (
            rate(families.INSTANCE_REQUESTS, where=_THIS, legend="all"),
            rate(families.KEY_REQUESTS, "llm_token_request", where=_THIS),
        ),
        Unit.PER_SECOND,
    ),
    Panel(
        "Requests at the edge",
        "That reached the instance, by status; needs `metrics.addServicesLabels` of Traefik, which is its "
        "default.",
        (foreign_rate(TRAEFIK_SERVICE_REQUESTS, "code", where=_AT_THE_EDGE),),
        Unit.PER_SECOND,
    ),
    Panel(
        "Duration at the edge",
        "Until the last byte, so long answers count as long.",
        (
            foreign_quantile(0.5, TRAEFIK_SERVICE_SECONDS, where=_AT_THE_EDGE),
            foreign_quantile(0.99, TRAEFIK_SERVICE_SECONDS, where=_AT_THE_EDGE),
        ),
        Unit.SECONDS,
    ),
)

INSTANCE: Final = Dashboard(
    "instance",
    "One instance",
    (("State", _STATE), ("Work", _WORK), ("Edge", _EDGE)),
    (
        release(families.LEADING),
        Choice("llm_namespace", f"{families.INSTANCE_INFO.name}{{{_THERE}}}", "llm_namespace"),
        Choice(
            "llm_instance",
            f'{families.INSTANCE_INFO.name}{{{_THERE}, llm_namespace="$llm_namespace"}}',
            "llm_instance",
        ),
        Choice(
            "llm_port",
            f"{families.INSTANCE_INFO.name}{{{_THERE}, {_THIS}}}",
            "slug",
            part="^(.{12})",
            is_shown=False,
        ),
        EDGE_NAMESPACE,
    ),
)
"""One instance, chosen by namespace and name."""
