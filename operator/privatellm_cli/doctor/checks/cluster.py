"""The cluster itself."""

import re
from collections.abc import Iterator

from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding, failure, ok

OLDEST = (1, 30)
"""ValidatingAdmissionPolicies, which keep tenants apart, are stable since then."""


def version(facts: Facts) -> Iterator[Finding]:
    """The API server must be new enough for our admission policies."""
    text = str(facts.version.get("gitVersion", "?"))
    found = re.match(r"v(\d+)\.(\d+)", text)
    if found and (int(found[1]), int(found[2])) < OLDEST:
        yield failure(
            "cluster",
            f"Kubernetes {text} has no ValidatingAdmissionPolicies, which keep tenants apart.",
            f"Upgrade the cluster to {OLDEST[0]}.{OLDEST[1]} or newer.",
        )
        return
    yield ok("cluster", f"Kubernetes {text} at {facts.server}")
