"""Only the operator writes what the edge believes.

A verifier opens an instance to whoever holds its key. The edge reads one namespace; the Secret type is kept
for the operator everywhere, so that nobody prepares a verifier elsewhere.
"""

from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, policy, rule
from privatellm.verifiers import SECRET_TYPE

NAME = "verifiers"


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on verifiers and its binding."""
    remedy = "Ask for a key with an APITokenRequest."
    return (
        policy(
            NAME,
            rules=[rule("", ["secrets"])],
            let_through=facts.writers,
            refusals=[
                Refusal(
                    unless=f"request.namespace != {cel.text(facts.token_namespace)}",
                    rule="Secrets in the token namespace are written by the Private LLM operator alone.",
                    remedy=remedy,
                ),
                Refusal(
                    unless=f"object.?type.orValue('') != {cel.text(SECRET_TYPE)}",
                    rule=f"Secrets of the type {SECRET_TYPE} are written by the Private LLM operator "
                    "alone.",
                    remedy=remedy,
                ),
            ],
        ),
        binding(NAME),
    )
