"""The edge: who gets in, who does not and why, and can the check be trusted?"""

from typing import Final

from privatellm.telemetry.families import authserver as families
from privatellm_local.packaging.dashboards.dashboard import (
    MAX_STALENESS_SECONDS,
    Dashboard,
    Panel,
    Unit,
)
from privatellm_local.packaging.dashboards.queries import (
    EDGE_NAMESPACE,
    TRAEFIK_CONNECTIONS,
    TRAEFIK_REQUESTS,
    TRAEFIK_SECONDS,
    foreign_quantile,
    foreign_rate,
    foreign_summed,
    highest,
    quantile,
    rate,
    release,
    summed,
)

_CHECK: Final = (
    Panel(
        "Decisions",
        "Of all pods. `index_not_fresh` turns everybody away; `forwarded_headers` and `aliased_header` are "
        "faults of the edge's set-up.",
        (rate(families.DECISIONS, "reason"),),
        Unit.PER_SECOND,
    ),
    Panel(
        "Duration of a decision",
        "Microseconds, whatever the number of keys.",
        (
            quantile(0.5, families.DECISION_SECONDS),
            quantile(0.99, families.DECISION_SECONDS),
        ),
        Unit.SECONDS,
    ),
)

_INDEX: Final = (
    Panel(
        "Age of the index",
        "Above 25 seconds a watch is broken; at `authserver.maxStalenessSeconds` every request gets 503,"
        f" at {MAX_STALENESS_SECONDS} in the release that brings this dashboard.",
        (highest(families.INDEX_AGE, "pod"),),
        Unit.SECONDS,
    ),
    Panel(
        "Keys",
        "In the index, ended ones that are remembered, and Secrets that are not trusted.",
        (
            highest(families.INDEX_TOKENS, legend="keys"),
            highest(families.INDEX_REVOKED, legend="ended"),
            highest(families.REJECTED, legend="not trusted"),
        ),
    ),
    Panel(
        "Lists and failures",
        "Each list reads every verifier; steady ones mean broken watches.",
        (
            rate(families.RELISTS, legend="lists"),
            rate(families.WATCH_FAILURES, legend="failures"),
        ),
        Unit.PER_SECOND,
    ),
    Panel(
        "Workers",
        "Running, and how often one was started again.",
        (
            summed(families.WORKER_UP, legend="running"),
            rate(families.WORKER_RESTARTS, legend="restarts a second"),
        ),
    ),
)

_TRAEFIK: Final = (
    Panel(
        "Requests",
        "At Traefik's entry points, by status.",
        (foreign_rate(TRAEFIK_REQUESTS, "code"),),
        Unit.PER_SECOND,
    ),
    Panel(
        "Duration",
        "Until the last byte, the model's answer included.",
        (
            foreign_quantile(0.5, TRAEFIK_SECONDS, "entrypoint"),
            foreign_quantile(0.99, TRAEFIK_SECONDS, "entrypoint"),
        ),
        Unit.SECONDS,
    ),
    Panel(
        "Connections",
        "Open ones at each entry point; streams hold theirs.",
        (foreign_summed(TRAEFIK_CONNECTIONS, "entrypoint"),),
    ),
)

EDGE: Final = Dashboard(
    "edge",
    "Edge",
    (("Check", _CHECK), ("Index", _INDEX), ("Traefik", _TRAEFIK)),
    (release(families.WORKER_UP), EDGE_NAMESPACE),
)
"""Traefik and the ForwardAuth service."""
