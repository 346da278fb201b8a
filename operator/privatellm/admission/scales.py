"""Replicas of a model server follow its LLMInstance, past which nobody scales.

The object of a scale request has no labels; the selector in its old status, which the server computed,
tells whose pods are counted. An autoscaler belongs on the LLMInstance, whose own scale stays open.
"""

from privatellm import labels
from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, policy, rule

NAME = "scales"


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on scale requests and its binding."""
    mark = cel.text(f"{labels.LLM_INSTANCE}=")
    refusal = Refusal(
        unless=f"!oldObject.status.?selector.orValue('').contains({mark})",
        rule="The replicas of a model server follow its LLMInstance.",
        remedy="Scale the LLMInstance: kubectl scale llminstance NAME --replicas N.",
    )
    return (
        policy(
            NAME,
            rules=[rule("apps", ["deployments/scale", "replicasets/scale"], ["UPDATE"])],
            let_through=facts.operators,
            refusals=[refusal],
        ),
        binding(NAME),
    )
