from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from privatellm.admission import AdmissionFacts, admission_policies
from privatellm.api.crds import all_crds
from privatellm_cli.doctor import checks, report
from privatellm_cli.doctor.checks.definitions import TRAEFIK, contains
from privatellm_cli.doctor.facts import Answer, Facts, Installation, Right, Traefik
from privatellm_cli.doctor.findings import Finding, Level
from privatellm_operator.render import middlewares
from privatellm_operator.settings import Settings

SYSTEM = "private-llm-system"
INSTALLATION = Installation(SYSTEM, "private-llm-operator", {"PRIVATE_LLM_ENTRY_POINTS": "web"})
SECURE = {
    "providers.kubernetesingress.strictprefixmatching": "true",
    "providers.kubernetesingress.allowemptyservices": "true",
    "providers.kubernetesingress.ingressclass": "traefik",
    "providers.kubernetescrd.safenaming": "true",
    "serverstransport.maxidleconnsperhost": "-1",
    "entrypoints.web.http.aliasheadersstrategy": "delete",
    **{
        f"entrypoints.web.http.encodedcharacters.allowencoded{name}": "false"
        for name in (
            "slash",
            "backslash",
            "nullcharacter",
            "semicolon",
            "percent",
            "questionmark",
            "hash",
        )
    },
}
CHAIN = ("upgrade", "cors", "guard", "auth", "strip", "rate", "inflight")


def _established(crd: dict[str, Any]) -> dict[str, Any]:
    return crd | {"status": {"conditions": [{"type": "Established", "status": "True"}]}}


def _traefik_crd(plural: str) -> dict[str, Any]:
    return {"metadata": {"name": f"{plural}.traefik.io"}}


def _middleware(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def _middlewares() -> tuple[dict[str, Any], ...]:
    shared = [_middleware(f"private-llm-{part}", headers={}) for part in CHAIN]
    names = [{"name": f"private-llm-{part}"} for part in CHAIN]
    return (*shared, _middleware("private-llm", chain={"middlewares": names}))


def _deployment(name: str, ready: int = 1) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 1},
        "status": {"readyReplicas": ready},
    }


def _admission() -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
    facts = AdmissionFacts((INSTALLATION.username,), SYSTEM, "private-llm-tokens", "traefik")
    made = admission_policies(facts)
    policies = tuple(m for m in made if m["kind"] == "ValidatingAdmissionPolicy")
    return policies, tuple(m for m in made if m not in policies)


def _model(name: str = "phi-2", **spec: Any) -> dict[str, Any]:
    source = {"huggingFace": {"repo": "o/r", "file": "f.gguf", "revision": "main"}}
    wanted: dict[str, Any] = {"source": source, "sha256": "a" * 64} | spec
    return {
        "metadata": {"name": name},
        "spec": {k: v for k, v in wanted.items() if v is not None},
    }


def _instance(phase: str, condition: str, reason: str) -> dict[str, Any]:
    found = {
        "type": condition,
        "status": "False",
        "reason": reason,
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {
        "metadata": {"name": "chat", "namespace": "acme", "uid": "u", "generation": 1},
        "spec": {"model": "phi-2"},
        "status": {"phase": phase, "conditions": [found]},
    }


POLICIES, BINDINGS = _admission()

HEALTHY = Facts(
    server="https://c:6443",
    namespace="acme",
    version={"gitVersion": "v1.37.2"},
    installation=INSTALLATION,
    definitions=(*map(_established, all_crds()), *map(_traefik_crd, TRAEFIK)),
    ingress_classes=(
        {"metadata": {"name": "traefik"}, "spec": {"controller": "traefik.io/ingress-controller"}},
    ),
    middlewares=_middlewares(),
    deployments=(_deployment("private-llm-operator"), _deployment("private-llm-authserver")),
    policies=POLICIES,
    bindings=BINDINGS,
    models=(_model(),),
    instances=(),
    traefiks=(Traefik("Deployment traefik/traefik", "3.7.15", SECURE),),
    authserver=Answer(200, "ok"),
    edge=Answer(401, "", "Bearer"),
    edge_url="https://llm.example/llm/x",
    missing_own=(),
    missing_operator=(),
    missing_tenants=(),
    authserver_excess=(),
)


def _faults(facts: Facts) -> list[Finding]:
    return [finding for finding in checks.examine(facts) if finding.level is not Level.OK]


def test_a_healthy_installation_has_no_faults() -> None:
    """Every check has something good to say."""
    assert _faults(HEALTHY) == []
    assert not report.has_failures(checks.examine(HEALTHY))


def _without(*names: str) -> Callable[[Facts], Facts]:
    """Return what takes away the right to see some facts."""
    return lambda facts: replace(facts, **dict.fromkeys(names))


def _edge(**settings: str) -> Facts:
    traefik = replace(HEALTHY.traefiks[0], settings=SECURE | settings)
    return replace(HEALTHY, traefiks=(traefik,))


FAULTS: dict[str, tuple[Facts, Level, str]] = {
    "an old cluster": (
        replace(HEALTHY, version={"gitVersion": "v1.29.4"}),
        Level.FAILURE,
        "v1.29.4 has no ValidatingAdmissionPolicies",
    ),
    "no kinds of ours": (
        replace(HEALTHY, definitions=tuple(map(_traefik_crd, TRAEFIK))),
        Level.FAILURE,
        "does not know llminstances.llm.privatellms.msp",
    ),
    "no kinds of Traefik": (
        replace(HEALTHY, definitions=tuple(map(_established, all_crds()))),
        Level.FAILURE,
        "lacks ingressroutes",
    ),
    "no operator": (
        replace(HEALTHY, deployments=()),
        Level.FAILURE,
        "no Deployment private-llm-operator",
    ),
    "a dead operator": (
        replace(
            HEALTHY,
            deployments=(
                _deployment("private-llm-operator", 0),
                _deployment("private-llm-authserver"),
            ),
        ),
        Level.FAILURE,
        "No pod of private-llm-operator is ready",
    ),
    "a stale index": (
        replace(HEALTHY, authserver=Answer(503, "index is old")),
        Level.FAILURE,
        "index is old",
    ),
    "a default class": (
        replace(
            HEALTHY,
            ingress_classes=(
                {
                    "metadata": {
                        "name": "traefik",
                        "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"},
                    },
                    "spec": {"controller": "traefik.io/ingress-controller"},
                },
            ),
        ),
        Level.FAILURE,
        "is the cluster's default",
    ),
    "a class of another controller": (
        replace(
            HEALTHY,
            ingress_classes=({"metadata": {"name": "traefik"}, "spec": {"controller": "nginx"}},),
        ),
        Level.FAILURE,
        "belongs to nginx",
    ),
    "no class": (replace(HEALTHY, ingress_classes=()), Level.FAILURE, "no IngressClass traefik"),
    "a missing middleware": (
        replace(HEALTHY, middlewares=_middlewares()[1:]),
        Level.FAILURE,
        "private-llm-upgrade do not exist",
    ),
    "a chain that strips before it checks": (
        replace(
            HEALTHY,
            middlewares=(
                *_middlewares()[:-1],
                _middleware(
                    "private-llm", chain={"middlewares": [{"name": "private-llm-strip"}] * 6}
                ),
            ),
        ),
        Level.FAILURE,
        "does not pass private-llm-upgrade, private-llm-cors, private-llm-auth",
    ),
    "an unsafe naming": (
        _edge(**{"providers.kubernetescrd.safenaming": "false"}),
        Level.FAILURE,
        "safenaming must be true and is false",
    ),
    "namespaces that cross": (
        _edge(**{"providers.kubernetescrd.allowcrossnamespace": "true"}),
        Level.FAILURE,
        "tenants could name each other's backends",
    ),
    "aliases of headers": (
        _edge(**{"entrypoints.web.http.aliasheadersstrategy": "keep"}),
        Level.WARNING,
        "CVE-2026-39858",
    ),
    "an edge that keeps connections": (
        _edge(**{"serverstransport.maxidleconnsperhost": "200"}),
        Level.FAILURE,
        "maxidleconnsperhost must be -1 and is 200",
    ),
    "an old Traefik": (
        replace(HEALTHY, traefiks=(replace(HEALTHY.traefiks[0], version="3.7.9"),)),
        Level.FAILURE,
        "is Traefik 3.7.9",
    ),
    "an invisible Traefik": (
        replace(HEALTHY, traefiks=()),
        Level.UNKNOWN,
        "No Traefik can be seen",
    ),
    "an open edge": (
        replace(HEALTHY, edge=Answer(200, "{}")),
        Level.FAILURE,
        "answers WITHOUT a key",
    ),
    "an edge without the route": (replace(HEALTHY, edge=Answer(404, "")), Level.FAILURE, "404"),
    "an unreachable edge": (
        replace(HEALTHY, edge=Answer(0, "no route to host")),
        Level.WARNING,
        "no route to host",
    ),
    "a user without rights": (
        replace(HEALTHY, missing_own=(Right("create", "x", "llminstances", "acme"),)),
        Level.WARNING,
        "create llminstances.x in acme",
    ),
    "an operator without rights": (
        replace(HEALTHY, missing_operator=(Right("list", "", "pods"),) * 7),
        Level.FAILURE,
        "and 2 more",
    ),
    "a namespace that was not onboarded": (
        replace(HEALTHY, missing_tenants=(Right("get", "", "secrets", "acme"),)),
        Level.FAILURE,
        "instances in acme",
    ),
    "an authserver with too many rights": (
        replace(HEALTHY, authserver_excess=(Right("list", "", "secrets"),)),
        Level.FAILURE,
        "must not: list secrets",
    ),
    "no policies": (
        replace(HEALTHY, policies=(), bindings=()),
        Level.FAILURE,
        "private-llm-verifiers",
    ),
    "policies that are not bound": (
        replace(HEALTHY, bindings=()),
        Level.FAILURE,
        "are not bound with Deny",
    ),
    "policies that lock the operator out": (
        replace(HEALTHY, installation=replace(INSTALLATION, account="renamed")),
        Level.FAILURE,
        "do not let system:serviceaccount:private-llm-system:renamed through",
    ),
    "an empty catalogue": (replace(HEALTHY, models=()), Level.FAILURE, "catalogue is empty"),
    "a broken entry": (
        replace(HEALTHY, models=(_model(contextSize=1),)),
        Level.FAILURE,
        "contextSize",
    ),
    "a model that may change": (
        replace(HEALTHY, models=(_model(sha256=None),)),
        Level.WARNING,
        "which weights are meant: phi-2",
    ),
    "a file where files are refused": (
        replace(HEALTHY, models=(_model(source={"url": "file:///m.gguf"}),)),
        Level.FAILURE,
        "refuses files",
    ),
    "an instance whose model has another checksum": (
        replace(HEALTHY, instances=(_instance("Failed", "ModelAvailable", "ChecksumMismatch"),)),
        Level.WARNING,
        "acme/chat (Failed: ChecksumMismatch)",
    ),
    "an instance that has lost a server": (
        replace(HEALTHY, instances=(_instance("Degraded", "Ready", "CrashLoop"),)),
        Level.WARNING,
        "acme/chat (Degraded: CrashLoop)",
    ),
    "more failed instances than can be named": (
        replace(HEALTHY, instances=(_instance("Failed", "Ready", "CrashLoop"),) * 22),
        Level.WARNING,
        " and 2 others.",
    ),
    "plain HTTP without a checksum": (
        replace(HEALTHY, models=(_model(source={"url": "http://h/m.gguf"}, sha256=None),)),
        Level.FAILURE,
        "plain HTTP",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_comes_with_a_remedy(fault: str) -> None:
    """In a sentence that names what was seen."""
    facts, level, said = FAULTS[fault]

    found = [f for f in _faults(facts) if said in f.message]

    assert [f.level for f in found[:1]] == [level]
    assert found[0].remedy


@pytest.mark.parametrize(
    ("hidden", "part"),
    [
        ("definitions", "definitions"),
        ("deployments", "operator"),
        ("middlewares", "middlewares"),
        ("policies", "admission policies"),
        ("models", "models"),
        ("instances", "instances"),
        ("missing_operator", "operator's rights"),
        ("authserver", "authserver index"),
        ("ingress_classes", "ingress class"),
    ],
)
def test_what_may_not_be_seen_is_unknown_and_not_healthy(hidden: str, part: str) -> None:
    """And no failure either: this user may be a customer."""
    found = _faults(_without(hidden)(HEALTHY))

    assert (part, Level.UNKNOWN) in {(f.check, f.level) for f in found}
    assert not report.has_failures(found)


def test_the_operators_own_chain_is_a_safe_one() -> None:
    """Whatever a release puts between the parts that the doctor asks for."""
    made = middlewares.build_all(Settings(), ())

    assert _faults(replace(HEALTHY, middlewares=made)) == []


def test_a_model_at_a_commit_is_pinned() -> None:
    """As good as a checksum."""
    source = {"huggingFace": {"repo": "o/r", "file": "f.gguf", "revision": "a" * 40}}

    assert _faults(replace(HEALTHY, models=(_model(source=source, sha256=None),))) == []


def test_defaults_that_the_api_server_adds_are_no_difference() -> None:
    """A stored definition has more than what was applied."""
    assert contains({"a": [{"b": 1, "default": 2}]}, {"a": [{"b": 1}]})
    assert not contains({"a": [1]}, {"a": [1, 2]})
    assert not contains({"a": {"b": 1}}, {"a": {"c": 1}})


def test_the_report_says_what_to_do_below_each_finding() -> None:
    """And counts at the end; programs get the same."""
    findings = checks.examine(replace(HEALTHY, models=()))

    text = report.text(findings)
    document = report.document(findings)

    assert "  -> Give the operator a catalogue" in text
    assert text.splitlines()[-1].endswith("1 failure")
    assert document["healthy"] is False
    assert {"part", "result", "message", "remedy"} == set(document["findings"][0])
