"""The instances: does each do what was ordered? Why not is told by ``describe``, one instance at a time."""

from collections.abc import Iterator

from privatellm.api.llm_instance import InstancePhase
from privatellm.kube import Manifest
from privatellm_cli.columns import reason
from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding, hidden, ok, warning
from privatellm_cli.output import field

_TROUBLED = (InstancePhase.FAILED, InstancePhase.DEGRADED)

MOST_NAMED = 20
"""Instances that are named; an outage may hit them all."""


def troubled(facts: Facts) -> Iterator[Finding]:
    """No instance should have failed; an order that makes no sense fails too, so it is a warning."""
    if facts.instances is None:
        yield hidden("instances", "LLMInstances of all namespaces")
        return
    found = sorted(_text(i) for i in facts.instances if field("status.phase")(i) in _TROUBLED)
    if not found:
        yield ok("instances", f"none of {len(facts.instances)} is Failed or Degraded")
        return
    further = f" and {len(found) - MOST_NAMED} others" if len(found) > MOST_NAMED else ""
    yield warning(
        "instances",
        f"Not as ordered: {', '.join(found[:MOST_NAMED])}{further}.",
        "Each one says why and what to do: privatellm describe NAMESPACE/NAME",
    )


def _text(instance: Manifest) -> str:
    metadata, phase = instance["metadata"], field("status.phase")(instance)
    return f"{metadata['namespace']}/{metadata['name']} ({phase}: {reason(instance) or 'unknown'})"
