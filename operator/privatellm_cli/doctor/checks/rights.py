"""Who may do what: this user, the operator, and what the authserver must not."""

from collections.abc import Iterator

from privatellm_cli.doctor.facts import Facts, Right
from privatellm_cli.doctor.findings import Finding, failure, ok, unknown, warning

MOST_NAMED = 5


def of_this_user(facts: Facts) -> Iterator[Finding]:
    """The commands of a customer should work in the present namespace."""
    if facts.missing_own:
        yield warning(
            "your rights",
            f"You may not: {_named(facts.missing_own)}. Commands that need it will say so.",
            "Ask the platform team for a role, or choose another namespace with -n.",
        )
    else:
        yield ok("your rights", f"every command of a customer works in {facts.namespace}")


def of_operator(facts: Facts) -> Iterator[Finding]:
    """The operator must be able to do its work."""
    if facts.missing_operator is None:
        yield _untold("operator's rights")
    elif facts.missing_operator:
        yield failure(
            "operator's rights",
            f"{facts.installation.account} may not: {_named(facts.missing_operator)}.",
            "Restore its roles: upgrade the chart, or run `privatellm up` again.",
        )
    else:
        yield ok("operator's rights", f"{facts.installation.account} may do all it needs to")


def in_tenants_namespaces(facts: Facts) -> Iterator[Finding]:
    """Where somebody ordered, the operator must be able to handle Secrets."""
    if facts.missing_tenants is None:
        return
    namespaces = sorted({right.namespace for right in facts.missing_tenants})
    if namespaces:
        yield failure(
            "onboarding",
            f"There are instances in {', '.join(namespaces)}, where the operator may not handle Secrets.",
            "Bind the ClusterRole private-llm-operator-tenant to the operator in these namespaces; the "
            f"chart's is private-llm-operator-tenant.{facts.installation.namespace}.",
        )
    else:
        yield ok("onboarding", "every namespace with an instance is onboarded")


def of_authserver(facts: Facts) -> Iterator[Finding]:
    """The authserver reads one namespace; with more, a takeover of the edge would cost more."""
    if facts.authserver_excess is None:
        yield _untold("authserver's rights")
    elif facts.authserver_excess:
        yield failure(
            "authserver's rights",
            f"The authserver may, and must not: {_named(facts.authserver_excess)}.",
            "Take the binding away: it needs to get, list and watch Secrets in the token namespace alone.",
        )
    else:
        yield ok("authserver's rights", "it reads the token namespace and can write nothing there")


def _untold(check: str) -> Finding:
    return unknown(
        check,
        "You may not ask what others may do, or its Deployment cannot be seen.",
        "Run this as a platform engineer.",
    )


def _named(missing: tuple[Right, ...]) -> str:
    named = [right.text for right in missing[:MOST_NAMED]]
    further = len(missing) - MOST_NAMED
    return ", ".join(named) + (f" and {further} more" if further > 0 else "")
