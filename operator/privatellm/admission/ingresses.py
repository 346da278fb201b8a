"""Tenants write no Ingress that the edge serves.

A tenant's Ingress on ``/llm`` with a priority, or on a longer path, takes other people's prompts and keys.
The class counts as it was and as it will be, as a field and as the older annotation; a class that is the
cluster's default has been filled in by the time this policy looks. An Ingress without a class is served by
an edge that was told no class, and by no other; with annotations for Traefik it is refused all the same.
"""

from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, outside, policy, rule

NAME = "ingresses"
CLASS_ANNOTATION = "kubernetes.io/ingress.class"
EDGE_ANNOTATIONS = "traefik."
"""What the keys begin with by which an Ingress speaks to Traefik."""


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on Ingresses and its binding."""
    return (
        policy(
            NAME,
            rules=[rule("networking.k8s.io", ["ingresses"])],
            namespaces=outside(facts.platform_namespaces),
            let_through=facts.writers,
            variables={
                "classes": _classes("object"),
                "oldClasses": f"oldObject == null ? [] : {_classes('oldObject')}",
            },
            refusals=[_of_our_class(facts.ingress_class), _of_no_class()],
        ),
        binding(NAME),
    )


def _classes(ingress: str) -> str:
    annotations = f"{ingress}.metadata.?annotations.orValue({{}})"
    # string() gives both members of the list the same type.
    return (
        f"[string({ingress}.spec.?ingressClassName.orValue('')),"
        f" {annotations}[?{cel.text(CLASS_ANNOTATION)}].orValue('')]"
    )


def _of_our_class(ingress_class: str) -> Refusal:
    return Refusal(
        unless=f"!({cel.text(ingress_class)} in variables.classes + variables.oldClasses)",
        rule="In tenants' namespaces only the Private LLM operator writes Ingresses of the class "
        f"{ingress_class}, by field or annotation.",
        remedy="Use another Ingress class; the route to an LLM is made by ordering an LLMInstance.",
    )


def _of_no_class() -> Refusal:
    for_the_edge = f"exists(key, key.startsWith({cel.text(EDGE_ANNOTATIONS)}))"
    return Refusal(
        unless="variables.classes.exists(c, c != '')"
        f" || !object.metadata.?annotations.orValue({{}}).{for_the_edge}",
        rule="In tenants' namespaces an Ingress with traefik annotations must name a class.",
        remedy="Set spec.ingressClassName to the class that should serve it, or remove the annotations.",
    )
