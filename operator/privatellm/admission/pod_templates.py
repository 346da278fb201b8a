"""No workload of a tenant makes pods that pass for model servers.

Pods are created by controllers that the policy on children trusts, so a tenant's Deployment whose template
carries our labels would put a tenant's pod behind a model's Service. The template is where to stop it.
"""

from privatellm.admission import cel
from privatellm.admission.facts import AdmissionFacts
from privatellm.admission.manifests import Manifest, Refusal, binding, policy, rule

NAME = "pod-templates"

RULES = (
    rule("", ["replicationcontrollers"]),
    rule("apps", ["deployments", "replicasets", "statefulsets", "daemonsets"]),
    rule("batch", ["jobs", "cronjobs"]),
)

# A CronJob keeps its template deeper; dyn() tells CEL not to expect one shape.
_TEMPLATE_LABELS = (
    "dyn(object).spec.?template.?metadata.?labels.orValue("
    "dyn(object).spec.?jobTemplate.?spec.?template.?metadata.?labels.orValue({}))"
)


def build(facts: AdmissionFacts) -> tuple[Manifest, ...]:
    """Return the policy on pod templates and its binding."""
    refusal = Refusal(
        unless=f"!{cel.marks_a_child('variables.labels')}",
        rule="A pod template must not carry the labels of a model server of Private LLM.",
        remedy="Remove app.kubernetes.io/managed-by=private-llm-operator and llm.privatellms.msp/instance "
        "from the template; a model server is had by ordering an LLMInstance.",
    )
    return (
        policy(
            NAME,
            rules=RULES,
            let_through=facts.writers,
            variables={"labels": _TEMPLATE_LABELS},
            refusals=[refusal],
        ),
        binding(NAME),
    )
