"""The sync agent's metrics: read from its own state when they are asked for."""

from typing import Final

from privatellm.telemetry.families.family import Label, counter, gauge, histogram
from privatellm.telemetry.families.spans import spans_family

RESOURCE: Final = Label("resource", "Name of the PublishedResource; series vanish with it.")
RESULT: Final = Label("result", "`success` or `failure`.")

PUBLISHED: Final = gauge("sync_agent_published_resource", "PublishedResources that are published.")
ENDPOINTS: Final = gauge("sync_agent_endpoints", "Endpoints that are followed.")
LEADING: Final = gauge("sync_agent_leading", "1 while this process may sync.")
OBJECTS: Final = gauge(
    "sync_agent_objects", "Objects of the workspaces that are in sight.", RESOURCE
)
COPIES: Final = gauge("sync_agent_copies", "Copies in the service cluster.", RESOURCE)
ORPHANS: Final = gauge(
    "sync_agent_orphans", "Copies whose object is out of sight; never deleted for that.", RESOURCE
)
QUEUE_DEPTH: Final = gauge("sync_agent_queue_depth", "Objects that wait for a pass.", RESOURCE)
QUEUE_OLDEST: Final = gauge(
    "sync_agent_queue_oldest_seconds", "How long the longest waiting object has waited.", RESOURCE
)
FAILING: Final = gauge("sync_agent_failing_objects", "Objects whose last pass failed.", RESOURCE)
RELISTS: Final = gauge(
    "sync_agent_relists",
    "Lists since the start: one for each watch, and one after each break.",
    RESOURCE,
)
PASSES: Final = counter("sync_agent_passes_total", "Passes by result.", RESOURCE, RESULT)
LAG: Final = histogram(
    "sync_agent_lag_seconds",
    "Time from the sight of a change on either side until a pass had carried it over, "
    "waiting and failed attempts included.",
    RESOURCE,
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
SPANS: Final = spans_family("sync_agent_spans_total")
