"""The admission policies that keep tenants who administer a namespace apart."""

from collections.abc import Iterator

from privatellm.admission import AdmissionFacts, admission_policies
from privatellm.kube import Manifest, kinds
from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding, failure, hidden, ok

_APPLY = "Upgrade the chart, or run `privatellm up` again for an embedded environment."


def policies(facts: Facts) -> Iterator[Finding]:
    """Every policy must be there, fail closed, be bound with Deny, and let our operator through."""
    if facts.policies is None or facts.bindings is None:
        yield hidden("admission policies", "ValidatingAdmissionPolicies and their bindings")
        return
    wanted = admission_policies(_facts(facts))
    # The chart's names end in the release's namespace, so that two releases have policies of their own.
    suffix = f".{facts.installation.namespace}"
    known = {p["metadata"]["name"].removesuffix(suffix): p for p in facts.policies}
    bound = {b["spec"]["policyName"].removesuffix(suffix) for b in facts.bindings if _denies(b)}
    names = [p["metadata"]["name"] for p in wanted if p["kind"] == _POLICY]
    faults = list(_faults(names, known, bound, facts.installation.username))
    yield from faults
    if not faults:
        yield ok("admission policies", f"{len(names)} in force")


_POLICY = kinds.VALIDATING_ADMISSION_POLICY.name


def _faults(
    names: list[str], known: dict[str, Manifest], bound: set[str], operator: str
) -> Iterator[Finding]:
    missing = [name for name in names if name not in known]
    present = [name for name in names if name in known]
    unbound = [name for name in present if name not in bound]
    open_ones = [n for n in present if known[n]["spec"].get("failurePolicy", "Fail") != "Fail"]
    locked = [n for n in present if _locks_out(known[n], operator)]
    for found, what in (
        (missing, "do not exist"),
        (unbound, "are not bound with Deny"),
        (open_ones, "let requests pass when they cannot be evaluated (failurePolicy)"),
        (locked, f"do not let {operator} through"),
    ):
        if found:
            text = (
                f"{', '.join(found)} {what}: tenants can take over routes, children or verifiers."
            )
            yield failure("admission policies", text, _APPLY)


def _denies(binding: Manifest) -> bool:
    return "Deny" in (binding["spec"].get("validationActions") or ())


def _locks_out(policy: Manifest, operator: str) -> bool:
    """Say whether a policy that names callers forgets our operator."""
    conditions = [c["expression"] for c in policy["spec"].get("matchConditions") or ()]
    named = [text for text in conditions if "system:serviceaccount:" in text]
    return bool(named) and not any(operator in text for text in named)


def _facts(facts: Facts) -> AdmissionFacts:
    installation = facts.installation
    return AdmissionFacts(
        operator_usernames=(installation.username,),
        system_namespace=installation.namespace,
        token_namespace=installation.token_namespace,
        ingress_class=installation.ingress_class,
    )
