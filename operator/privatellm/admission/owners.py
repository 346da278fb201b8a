"""Only the operator makes an object part of an order.

The operator takes an object that names an order as its controller for its own, repairs it, and asks nobody.
Whoever knows the order's UID could have prepared one, with a certificate or a key of its own in it, and had
the operator put it into force. Who owns an object without controlling it is everybody's business.
"""

from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, policy, rule
from privatellm.kube import kinds

NAME = "owners"

RULES = (
    rule("", ["secrets", "services", "persistentvolumeclaims"]),
    rule("apps", ["deployments"]),
    rule("networking.k8s.io", ["ingresses", "networkpolicies"]),
    rule("policy", ["poddisruptionbudgets"]),
)
"""What the operator writes for an order."""


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on controllers of objects and its binding."""
    refusal = Refusal(
        unless="variables.orders.all(order, order in variables.ordersBefore)",
        rule="Only the Private LLM operator gives an object an LLMInstance or APITokenRequest as its "
        "controller.",
        remedy="Leave out controller: true, or the ownerReference.",
    )
    return (
        policy(
            NAME,
            rules=RULES,
            let_through=facts.writers,
            variables={
                "orders": _orders("object"),
                "ordersBefore": f"oldObject == null ? [] : {_orders('oldObject')}",
            },
            refusals=[refusal],
        ),
        binding(NAME),
    )


def _orders(manifest: str) -> str:
    """Return the UIDs of the orders that control an object."""
    group = cel.text(f"{kinds.LLM_INSTANCE.group}/")
    is_order = f"r.apiVersion.startsWith({group}) && r.?controller.orValue(false)"
    owners = f"{manifest}.metadata.?ownerReferences.orValue([])"
    return f"{owners}.filter(r, {is_order}).map(r, r.uid)"
