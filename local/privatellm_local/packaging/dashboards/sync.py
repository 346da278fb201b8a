"""The sync agent: does what customers order in their workspaces arrive, and how late?"""

from typing import Final

from privatellm.telemetry.families import sync_agent as families
from privatellm_local.packaging.dashboards.dashboard import Dashboard, Panel, Unit
from privatellm_local.packaging.dashboards.queries import (
    highest,
    quantile,
    rate,
    release,
    summed,
)

_SYNC: Final = (
    Panel(
        "Lag",
        "From the sight of a change until it was carried over.",
        (
            quantile(0.5, families.LAG, "resource"),
            quantile(0.99, families.LAG, "resource"),
        ),
        Unit.SECONDS,
    ),
    Panel(
        "Passes",
        "By result; the log names the objects that fail.",
        (rate(families.PASSES, "resource", "result"),),
        Unit.PER_SECOND,
    ),
    Panel(
        "Waiting for a pass",
        "Objects, and how long the oldest has waited.",
        (
            highest(families.QUEUE_DEPTH, "resource", legend="{{resource}} objects"),
            highest(families.QUEUE_OLDEST, "resource", legend="{{resource}} oldest, seconds"),
        ),
    ),
)

_OBJECTS: Final = (
    Panel(
        "Objects and copies",
        "As many copies as objects, once all is carried over.",
        (
            highest(families.OBJECTS, "resource", legend="{{resource}} objects"),
            highest(families.COPIES, "resource", legend="{{resource}} copies"),
        ),
    ),
    Panel(
        "Out of order",
        "Objects whose last pass failed, and copies without an object in sight.",
        (
            highest(families.FAILING, "resource", legend="{{resource}} failing"),
            highest(families.ORPHANS, "resource", legend="{{resource}} orphans"),
        ),
    ),
)

_AGENT: Final = (
    Panel(
        "Agent",
        "Leaders, endpoints that are followed, and resources that are published.",
        (
            summed(families.LEADING, legend="leaders"),
            highest(families.ENDPOINTS, legend="endpoints"),
            highest(families.PUBLISHED, legend="published"),
        ),
    ),
    Panel(
        "Lists",
        "One for each watch, and one after each break.",
        (highest(families.RELISTS, "resource"),),
    ),
    Panel(
        "Spans",
        "Empty without traces. `failed`: the collector did not take them; `dropped`: too many waited.",
        (rate(families.SPANS, "result"),),
        Unit.PER_SECOND,
    ),
)

SYNC: Final = Dashboard(
    "sync",
    "Sync",
    (("Changes", _SYNC), ("Objects", _OBJECTS), ("Agent", _AGENT)),
    (release(families.LEADING),),
)
"""The agent between workspaces and service cluster."""
