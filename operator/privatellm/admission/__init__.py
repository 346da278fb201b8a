"""Admission policies: what keeps a tenant who administers a namespace from other people's prompts.

Stock ``edit`` and ``admin`` may create Ingresses, change pods and ``exec`` into them, so RBAC alone does
not separate tenants from the platform. Pure builders return ValidatingAdmissionPolicies and their bindings,
one policy a file; every value of an installation is in :class:`~privatellm.admission.facts.AdmissionFacts`,
so that the embedded environment and the chart are served by the same builders.

What is deliberately not done: nothing is refused on DELETE, because garbage collection and the deletion of
a namespace would hang; objects that exist already are not looked at, because admission never sees them.
"""

from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.policies import admission_policies

__all__ = ["AdmissionFacts", "admission_policies"]
