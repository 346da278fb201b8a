"""Only the operator says how our objects are.

The status carries endpoints and key ids that people and portals believe.
"""

from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import NEVER, Manifest, Refusal, binding, policy, rule
from privatellm.kube.kinds import GROUP

NAME = "statuses"


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on the status of our kinds and its binding."""
    refusal = Refusal(
        unless=NEVER,
        rule=f"The status of {GROUP} objects is written by the Private LLM operator alone.",
        remedy="Change the spec; the status follows.",
    )
    return (
        policy(
            NAME,
            rules=[rule(GROUP, ["*/status"], ["UPDATE"])],
            let_through=facts.operators,
            refusals=[refusal],
        ),
        binding(NAME),
    )
