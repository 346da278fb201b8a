"""``docs/reference/metrics.md``: every metric of every part, written from its declaration."""

from collections.abc import Iterator

from privatellm.telemetry.families import PARTS, Family, Part
from privatellm.telemetry.families.authserver import ANSWERS

_HEADER = """\
# Metrics

Generated from the code by `make crds`; tests compare this page, the dashboards and the alerts with what
the programs expose. Each part serves `/metrics` in Prometheus' text format, and the usual `process_*` and
`python_*` series of the process that serves it. Of the ForwardAuth service that is the supervisor: what the
workers need is seen from outside, as `container_memory_working_set_bytes` and
`container_cpu_usage_seconds_total` of the pod.

No label holds a key or its id, what a request asked for, or who sent it. A label has values that are
written in the code, or one for each object of a kind; the series of an object end with it. Figures of
objects come from the operator that leads, so ask for `max` or `sum` over pods. Traefik's own metrics
(`traefik_*`) are described in its documentation; the dashboards use a few of them.
"""

_ROW = "| metric | type | labels | meaning |\n|---|---|---|---|\n"
_REASONS = """
### Reasons

A decision is counted by its reason, which is the `reason` of the audit line and of the span as well.

| reason | answer | error code | when |
|---|---|---|---|
"""


def metrics_page() -> str:
    """Return the page."""
    return _HEADER + "".join(_section(part) for part in PARTS)


def _section(part: Part) -> str:
    rows = "".join(_row(family) for family in part.families)
    labels = "".join(f"| `{name}` | {text} |\n" for name, text in _labels(part))
    reasons = _reasons() if part.name == "ForwardAuth service" else ""
    return (
        f"\n## {part.name}\n\nServed on {part.served_at}.\n\n{_ROW}{rows}"
        f"\n| label | values |\n|---|---|\n{labels}{reasons}"
    )


def _row(family: Family) -> str:
    labels = ", ".join(f"`{name}`" for name in family.label_names)
    return f"| `{family.name}` | {family.type} | {labels} | {family.text} |\n"


def _labels(part: Part) -> Iterator[tuple[str, str]]:
    """Yield each label once; one that means two things in two metrics has two rows."""
    seen = {(label.name, label.values) for family in part.families for label in family.labels}
    yield from sorted(seen)


def _reasons() -> str:
    rows = (
        f"| `{answer.reason}` | {answer.status} | {f'`{answer.code}`' if answer.code else ''} "
        f"| {answer.text} |\n"
        for answer in ANSWERS
    )
    return _REASONS + "".join(rows)
