"""Tenants write nothing that configures the edge.

A Middleware, an IngressRoute, a TLSStore or a TraefikService of a tenant changes what happens to requests
that are not the tenant's own (CVE-2026-71325, CVE-2026-41174, CVE-2026-54761 of Traefik).
"""

from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import NEVER, Manifest, Refusal, binding, outside, policy, rule

NAME = "edge-objects"


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on ``traefik.io`` objects and its binding."""
    refusal = Refusal(
        unless=NEVER,
        rule="In tenants' namespaces only the Private LLM operator writes traefik.io objects.",
        remedy="Ask the platform team: routes to an LLM are made by ordering an LLMInstance.",
    )
    return (
        policy(
            NAME,
            rules=[rule("traefik.io", ["*/*"])],
            namespaces=outside(facts.platform_namespaces),
            let_through=facts.writers,
            refusals=[refusal],
        ),
        binding(NAME),
    )
