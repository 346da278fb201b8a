"""The platform at a glance: does everything that was ordered work, and does the operator keep up?"""

from typing import Final

from privatellm.telemetry.families import authserver
from privatellm.telemetry.families import operator as families
from privatellm_local.packaging.dashboards.dashboard import Dashboard, Panel, Unit, View
from privatellm_local.packaging.dashboards.queries import (
    highest,
    quantile,
    rate,
    release,
    summed,
)

_OBJECTS: Final = (
    Panel(
        "Instances by phase",
        "Failed and Degraded want somebody to look; Provisioning is normal for as long as a fetch takes.",
        (highest(families.INSTANCES, "phase"),),
    ),
    Panel(
        "Token requests by phase",
        "Pending ones wait for their instance.",
        (highest(families.TOKEN_REQUESTS, "phase"),),
    ),
    Panel(
        "Time to Ready",
        "From the order to the answer; most of it is the fetch and the load of the weights.",
        (
            quantile(0.5, families.TIME_TO_READY, "occasion"),
            quantile(0.95, families.TIME_TO_READY, "occasion"),
        ),
        Unit.SECONDS,
    ),
)

_OPERATOR: Final = (
    Panel(
        "Leaders",
        "One, always. None for minutes means that revocations wait.",
        (summed(families.LEADING),),
        view=View.NUMBER,
    ),
    Panel(
        "Passes",
        "By kind and result; `conflict` heals by itself, `error` is a defect.",
        (rate(families.PASSES, "kind", "result"),),
        Unit.PER_SECOND,
    ),
    Panel(
        "Duration of passes",
        "A settled object takes milliseconds; seconds are a slow API server.",
        (quantile(0.99, families.PASS_SECONDS, "kind"),),
        Unit.SECONDS,
    ),
    Panel(
        "Waiting for a pass",
        "Objects, and how long the oldest has waited.",
        (
            highest(families.QUEUE_DEPTH, legend="objects"),
            highest(families.QUEUE_OLDEST, legend="oldest, seconds"),
        ),
    ),
)

_KEYS_AND_WEIGHTS: Final = (
    Panel(
        "Revocation",
        "From the end of a key until no worker of a pod accepts it.",
        (
            quantile(0.5, families.REVOCATION_LAG, legend="p50"),
            quantile(0.99, families.REVOCATION_LAG, legend="p99"),
        ),
        Unit.SECONDS,
    ),
    Panel(
        "Fetches",
        "`present` are cache hits; `failed` are attempts, and the instances' conditions say why.",
        (rate(families.FETCHES, "result"),),
        Unit.PER_SECOND,
    ),
    Panel(
        "Fetched",
        "Weights that came over the network.",
        (rate(families.FETCH_BYTES, legend="bytes"),),
        Unit.BYTES_PER_SECOND,
    ),
    Panel(
        "Duration of fetches",
        "Cache hits are not in it.",
        (quantile(0.95, families.FETCH_SECONDS, legend="p95"),),
        Unit.SECONDS,
    ),
)

_CLOCKS: Final = (
    Panel(
        "Clocks",
        "How far pods are from the API server's clock; beyond 5 seconds a clock is left aside.",
        (
            highest(families.CLOCK_SKEW, "pod", legend="operator {{pod}}"),
            highest(authserver.CLOCK_SKEW, "pod", legend="edge {{pod}}"),
        ),
        Unit.SECONDS,
    ),
    Panel(
        "Model servers asked",
        "The operator's questions for their figures.",
        (rate(families.MODEL_SCRAPES, "result"),),
        Unit.PER_SECOND,
    ),
)

_TRACES: Final = (
    Panel(
        "Spans",
        "Empty without traces. `failed`: the collector did not take them; `dropped`: too many waited.",
        (
            rate(families.SPANS, "result", legend="operator {{result}}"),
            rate(authserver.SPANS, "result", legend="edge {{result}}"),
        ),
        Unit.PER_SECOND,
    ),
)

OVERVIEW: Final = Dashboard(
    "overview",
    "Platform",
    (
        ("Orders", _OBJECTS),
        ("Operator", _OPERATOR),
        ("Keys and weights", _KEYS_AND_WEIGHTS),
        ("Surroundings", _CLOCKS),
        ("Traces", _TRACES),
    ),
    (release(families.LEADING),),
)
"""The whole platform."""
