"""The shape that all our policies and bindings have in common.

Every policy fails closed, names the callers it lets through as a match condition (a request of theirs costs
nothing further) and answers 403 with a sentence: the rule, what was tried by whom, and what to do instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privatellm import labels
from privatellm.admission import cel
from privatellm.admission.facts import Callers
from privatellm.kube import kinds
from privatellm.kube.kinds import Kind

Manifest = dict[str, Any]

PREFIX = "private-llm"

WRITES = ("CREATE", "UPDATE")
"""Patching and applying are updates; deleting stays free."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"
"""The label that the API server puts on every namespace and lets nobody change."""

NEVER = "false"
"""Whoever is not let through by the match conditions is refused."""

EVERY_CHILD: Manifest = {"matchExpressions": [{"key": labels.LLM_INSTANCE, "operator": "Exists"}]}
"""Selects every child of an instance, and its pods."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One check of a policy.

    Attributes:
        unless: CEL that holds for requests that may pass.
        rule: One sentence: what must hold.
        remedy: One sentence: what to do instead.
    """

    unless: str
    rule: str
    remedy: str

    def to_kubernetes(self) -> Manifest:
        """Return the validation."""
        resource = 'request.resource.resource + "/" + request.?subResource.orValue("")'
        got = (
            '" Got " + request.operation + " of "'
            f' + ({resource}).replace("/", " ").trim() + " by " + request.userInfo.username + ". "'
        )
        return {
            "expression": self.unless,
            "message": f"{self.rule} {self.remedy}",
            "messageExpression": f"{cel.text(self.rule)} + {got} + {cel.text(self.remedy)}",
            # Without it the API server answers 422, as if the object were misspelt.
            "reason": "Forbidden",
        }


def rule(group: str, resources: Sequence[str], operations: Sequence[str] = WRITES) -> Manifest:
    """Return which requests a policy looks at, in every version of an API group."""
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": list(resources),
        "operations": list(operations),
        "scope": "*",
    }


def outside(namespaces: Sequence[str]) -> Manifest:
    """Return the selector of all other namespaces."""
    expression = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": list(namespaces)}
    return {"matchExpressions": [expression]}


def policy(
    name: str,
    *,
    rules: Sequence[Manifest],
    let_through: Callers,
    refusals: Sequence[Refusal],
    namespaces: Manifest | None = None,
    variables: Mapping[str, str] | None = None,
    parameter: Kind | None = None,
) -> Manifest:
    """Return a policy.

    Args:
        name: Its name without our prefix.
        rules: The requests it looks at.
        let_through: Whose requests pass unseen.
        refusals: Its checks; the first that fails is reported.
        namespaces: Selector of the namespaces it looks at; all when absent.
        variables: CEL by the name under which the checks use it.
        parameter: Kind of the objects that it compares a request with.
    """
    stranger = cel.is_none_of(let_through)
    conditions = [{"name": "not-let-through", "expression": stranger}] if stranger else []
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": namespaces or {},
            "objectSelector": {},
            "resourceRules": list(rules),
        },
        "matchConditions": conditions,
        "variables": [{"name": n, "expression": e} for n, e in (variables or {}).items()],
        "validations": [refusal.to_kubernetes() for refusal in refusals],
    }
    if parameter is not None:
        spec["paramKind"] = {"apiVersion": parameter.api_version, "kind": parameter.name}
    return _object(kinds.VALIDATING_ADMISSION_POLICY, name, spec)


def binding(
    policy_name: str,
    *,
    name: str = "",
    objects: Manifest | None = None,
    parameters: Manifest | None = None,
) -> Manifest:
    """Return what puts a policy into force.

    Args:
        policy_name: The policy's name without our prefix.
        name: The binding's own name, when a policy has several.
        objects: Selector of the objects, old or new, that the policy is in force for.
        parameters: Selector of the parameters in the request's namespace; without any the request passes.
    """
    spec: Manifest = {"policyName": f"{PREFIX}-{policy_name}", "validationActions": ["Deny"]}
    if objects is not None:
        spec["matchResources"] = {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": objects,
        }
    if parameters is not None:
        spec["paramRef"] = {"selector": parameters, "parameterNotFoundAction": "Allow"}
    return _object(kinds.VALIDATING_ADMISSION_POLICY_BINDING, name or policy_name, spec)


def _object(kind: Kind, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": f"{PREFIX}-{name}", "labels": {labels.PART_OF: labels.PART_OF_US}}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}
