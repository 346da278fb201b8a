"""The admission policies with the values of this environment.

The person at the machine is the platform team: the administrators' group, whose kubeconfig `privatellm env`
prints, may break the glass. Customers are users of other groups.
"""

from typing import Any

from privatellm.admission import AdmissionFacts, admission_policies
from privatellm_local.pki import inventory
from privatellm_local.platform.facts import (
    OPERATOR,
    SYSTEM_NAMESPACE,
    TOKEN_NAMESPACE,
    PlatformFacts,
)


def admission(facts: PlatformFacts) -> tuple[dict[str, Any], ...]:
    """Return the policies and their bindings."""
    return admission_policies(admission_facts(facts))


def admission_facts(facts: PlatformFacts) -> AdmissionFacts:
    """Return what the policies depend on here."""
    return AdmissionFacts(
        operator_usernames=(f"system:serviceaccount:{SYSTEM_NAMESPACE}:{OPERATOR}",),
        system_namespace=SYSTEM_NAMESPACE,
        token_namespace=TOKEN_NAMESPACE,
        ingress_class=facts.ingress_class,
        break_glass_groups=(inventory.ADMINISTRATORS, inventory.BOOTSTRAP.group),
    )
