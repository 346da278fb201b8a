"""The children of an instance, in the order in which they are written.

What protects comes before what runs, and the route comes last: a path is served only when there is
something to serve it.
"""

from privatellm.kube import Manifest
from privatellm_operator.render import (
    deployment,
    ingress,
    key_secret,
    network_policy,
    pod_disruption_budget,
    service,
)
from privatellm_operator.render.instance import InstanceFacts

BUILDERS = (
    key_secret.build,
    network_policy.build,
    service.build,
    deployment.build,
    ingress.build,
)
"""One builder a child that every instance has."""


def build_all(facts: InstanceFacts) -> tuple[Manifest, ...]:
    """Return every child of the instance."""
    several = [pod_disruption_budget.build] if pod_disruption_budget.is_wanted(facts) else []
    return tuple(build(facts) for build in (*several, *BUILDERS))
