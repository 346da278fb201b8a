"""All policies, in the order in which they are applied.

A binding follows its policy, so no policy is ever in force half-written. No order locks the operator out:
its user name is part of each policy, and the API server never subjects policies themselves to policies.
"""

from privatellm.admission import (
    children,
    connections,
    edge_objects,
    ingresses,
    network_policies,
    owners,
    pod_templates,
    scales,
    service_ports,
    statuses,
    verifiers,
)
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest

BUILDERS = (
    # The edge: nobody else's routes, middlewares or backends.
    edge_objects.build,
    ingresses.build,
    service_ports.build,
    # The children: nobody else writes them, poses as them or scales them.
    children.build,
    owners.build,
    pod_templates.build,
    scales.build,
    network_policies.build,
    # What the edge and the customers believe.
    verifiers.build,
    statuses.build,
    # Running model servers.
    connections.to_pods,
    connections.to_services,
)


def admission_policies(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return every ValidatingAdmissionPolicy, each followed by its bindings.

    Args:
        facts: The values of the installation.
    """
    return tuple(manifest for build in BUILDERS for manifest in build(facts))
