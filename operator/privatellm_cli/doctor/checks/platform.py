"""Our own parts: do they run, and does the authserver answer?"""

from collections.abc import Iterator

from privatellm.kube import Manifest
from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding, failure, hidden, ok, unknown
from privatellm_cli.doctor.gathering import AUTHSERVER, OPERATOR, is_named

_INSTALL = "Install Private LLM, or name its namespace with --system-namespace."


def operator(facts: Facts) -> Iterator[Finding]:
    """The operator must run, or orders are accepted and nothing happens."""
    yield _workload(facts, "operator", OPERATOR)


def authserver(facts: Facts) -> Iterator[Finding]:
    """The authserver must run and have a fresh index, or the edge refuses everybody."""
    running = _workload(facts, "authserver", AUTHSERVER)
    yield running
    answer = facts.authserver
    if answer is None:
        yield hidden("authserver index", "the authserver's readiness (services/proxy)")
    elif answer.status == 200:  # noqa: PLR2004 - HTTP's word for good
        yield ok("authserver index", "every worker is synced and fresh")
    elif answer.status == 0:
        yield unknown(
            "authserver index",
            f"The authserver's admin port did not answer: {answer.text}.",
            "Is it reachable from the API server? NetworkPolicies may keep that apart.",
        )
    else:
        yield failure(
            "authserver index",
            f"The authserver is not ready ({answer.status}): {answer.text}",
            f"kubectl -n {facts.installation.namespace} logs deployment/{AUTHSERVER}",
        )


def _workload(facts: Facts, check: str, name: str) -> Finding:
    namespace = facts.installation.namespace
    if facts.deployments is None:
        return hidden(check, f"Deployments in {namespace}")
    found = next((d for d in facts.deployments if is_named(d, name)), None)
    if found is None:
        return failure(check, f"There is no Deployment {name} in {namespace}.", _INSTALL)
    ready, wanted = _counts(found)
    if ready < 1:
        return failure(
            check,
            f"No pod of {name} is ready.",
            f"kubectl -n {namespace} describe deployment {found['metadata']['name']}",
        )
    return ok(check, f"{ready} of {wanted} pods of {name} are ready")


def _counts(deployment: Manifest) -> tuple[int, int]:
    ready = (deployment.get("status") or {}).get("readyReplicas") or 0
    return int(ready), int(deployment["spec"].get("replicas", 1))
