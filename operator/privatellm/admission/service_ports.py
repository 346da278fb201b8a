"""The port name by which the edge finds a model server is not for others.

DELETE stays free, so a tenant can delete a model's Service and create one of the same name in the moment
before the operator repairs it; without this port name the edge does not send it anything. Traefik also
joins namespace, Service and port name to one key, which nobody in another namespace can meet then.
"""

from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, policy, rule
from privatellm.names import SERVICE_PORT_PATTERN

NAME = "service-ports"


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on the ports of Services and its binding."""
    ours = f"p.?name.orValue('').matches({cel.text(f'^{SERVICE_PORT_PATTERN}$')})"
    refusal = Refusal(
        unless=f"!object.spec.?ports.orValue([]).exists(p, {ours})",
        rule=f"Service ports named like {SERVICE_PORT_PATTERN} lead to model servers of Private LLM.",
        remedy="Give the port another name.",
    )
    return (
        policy(
            NAME,
            rules=[rule("", ["services"])],
            let_through=facts.writers,
            refusals=[refusal],
        ),
        binding(NAME),
    )
