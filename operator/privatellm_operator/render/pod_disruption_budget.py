"""The PodDisruptionBudget of an instance with several servers: a drained node takes one at a time.

One server alone gets none: a budget that lets nothing go would keep a node from ever being drained.
"""

from privatellm.kube import Manifest, kinds
from privatellm_operator.render.instance import InstanceFacts, child, selector_labels


def is_wanted(facts: InstanceFacts) -> bool:
    """Say whether the instance has servers of which some can go while others stay."""
    return facts.instance.spec.replicas > 1


def build(facts: InstanceFacts) -> Manifest:
    """Return the PodDisruptionBudget."""
    spec = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": selector_labels(facts.instance)},
        # A server that does not answer protects nothing and must not hold a node.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return child(kinds.POD_DISRUPTION_BUDGET, facts, {"spec": spec})
