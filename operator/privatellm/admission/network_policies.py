"""No NetworkPolicy of a tenant opens a model server.

NetworkPolicies add up: one that lets traffic in to every pod of a namespace opens the model servers too,
which the operator's own policy keeps for the edge. So a policy that lets anything in must not select them.
A policy that only closes is welcome.

Whether a selector can match a model server is decided without looking at pods, because they may come later:
their fixed labels are compared, and the labels whose values differ from instance to instance count as met.
"""

from privatellm import labels
from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, outside, policy, rule

NAME = "network-policies"

FIXED_LABELS = {
    labels.NAME: labels.MODEL_SERVER,
    labels.PART_OF: labels.PART_OF_US,
    labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
}
"""Labels that every pod of a model server carries."""

OPEN_LABELS = (labels.INSTANCE, labels.LLM_INSTANCE, "pod-template-hash")
"""Labels that every such pod carries with a value of its own."""


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on NetworkPolicies and its binding."""
    refusal = Refusal(
        unless="object.spec.?ingress.orValue([]).size() == 0"
        " || !(variables.labelsMatch && variables.expressionsMatch)",
        rule="A NetworkPolicy that lets traffic in must not select model servers of Private LLM.",
        remedy="Add to spec.podSelector.matchExpressions: "
        f"{{key: {labels.PART_OF}, operator: NotIn, values: [{labels.PART_OF_US}]}}.",
    )
    return (
        policy(
            NAME,
            rules=[rule("networking.k8s.io", ["networkpolicies"])],
            namespaces=outside(facts.platform_namespaces),
            let_through=facts.writers,
            variables={
                "fixed": cel.table(FIXED_LABELS),
                "open": cel.texts(OPEN_LABELS),
                "labelsMatch": _labels_match(),
                "expressionsMatch": _expressions_match(),
            },
            refusals=[refusal],
        ),
        binding(NAME),
    )


def _labels_match() -> str:
    return (
        "object.spec.?podSelector.?matchLabels.orValue({}).all(key, value,"
        " key in variables.fixed ? variables.fixed[key] == value : key in variables.open)"
    )


def _expressions_match() -> str:
    carried = "(e.key in variables.fixed || e.key in variables.open)"
    one_of = "variables.fixed[e.key] in e.?values.orValue([])"
    return (
        "object.spec.?podSelector.?matchExpressions.orValue([]).all(e,"
        f" e.operator == 'Exists' ? {carried}"
        f" : e.operator == 'DoesNotExist' ? !{carried}"
        f" : e.operator == 'In' ? (e.key in variables.fixed ? {one_of} : {carried})"
        f" : !(e.key in variables.fixed && {one_of}))"
    )
