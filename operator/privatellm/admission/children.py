"""Only the operator and the controllers that carry out its wishes write the operator's children.

A child is known by either of two labels, on the object as it was or as it will be, so a label can neither
be forged nor taken away. That covers what comes of a child too: ReplicaSets and pods carry the labels of
their template. It includes debugging containers and resizes, which change a running pod.

A selector cannot say "or", two bindings can; so objects without our labels never reach CEL.
"""

from privatellm import labels
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import (
    EVERY_CHILD,
    NEVER,
    Manifest,
    Refusal,
    binding,
    policy,
    rule,
)

NAME = "children"

RULES = (
    rule("", ["pods", "pods/ephemeralcontainers", "pods/resize", "services", "secrets"]),
    rule("apps", ["deployments", "replicasets"]),
    rule("networking.k8s.io", ["ingresses", "networkpolicies"]),
    rule("policy", ["poddisruptionbudgets"]),
)
"""What the operator writes, and what Kubernetes makes of it."""


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on children and a binding for each label that marks one."""
    manager = f"{labels.MANAGED_BY}={labels.MANAGED_BY_OPERATOR}"
    refusal = Refusal(
        unless=NEVER,
        rule=f"Objects labelled {manager} or {labels.LLM_INSTANCE} are written by the Private LLM "
        "operator alone, and nobody else sets or removes these labels.",
        remedy="Change the LLMInstance or APITokenRequest that the object belongs to, or use other labels.",
    )
    by_manager = {"matchLabels": {labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR}}
    return (
        policy(NAME, rules=RULES, let_through=facts.writers, refusals=[refusal]),
        binding(NAME, name=f"{NAME}-by-manager", objects=by_manager),
        binding(NAME, name=f"{NAME}-by-instance", objects=EVERY_CHILD),
    )
