"""The checks: pure functions from facts to findings, one part of an installation a file."""

from collections.abc import Callable, Iterator

from privatellm_cli.doctor.checks import (
    admission,
    cluster,
    definitions,
    edge,
    instances,
    models,
    platform,
    rights,
)
from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding

Check = Callable[[Facts], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    cluster.version,
    definitions.ours,
    definitions.traefik,
    # The operator's settings say what the edge must look like.
    platform.operator,
    platform.authserver,
    edge.ingress_class,
    edge.middlewares,
    edge.settings,
    edge.asks_for_keys,
    # Who may do what.
    rights.of_this_user,
    rights.of_operator,
    rights.in_tenants_namespaces,
    rights.of_authserver,
    admission.policies,
    models.catalogue,
    models.sources,
    models.pinned,
    instances.troubled,
)
"""What is looked at, in the order in which it is reported."""


def examine(facts: Facts) -> tuple[Finding, ...]:
    """Return what every check says."""
    return tuple(finding for check in CHECKS for finding in check(facts))
