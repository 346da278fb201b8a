"""The CustomResourceDefinitions: ours in this release's form, and Traefik's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from privatellm.api.crds import all_crds
from privatellm.kube import Manifest
from privatellm_cli.doctor.facts import Facts
from privatellm_cli.doctor.findings import Finding, failure, hidden, ok, warning

TRAEFIK = (
    "ingressroutes",
    "ingressroutetcps",
    "ingressrouteudps",
    "middlewares",
    "middlewaretcps",
    "serverstransports",
    "serverstransporttcps",
    "tlsoptions",
    "tlsstores",
    "traefikservices",
)
"""Traefik's CRD provider watches all of these and serves nothing while one is missing."""

_APPLY = (
    "Upgrade the chart private-llm-operator (or run `privatellm up` again for an embedded environment), or "
    "use the command line of the release that is installed."
)


def ours(facts: Facts) -> Iterator[Finding]:
    """Our kinds must be there, served, and what this release says they are."""
    if facts.definitions is None:
        yield hidden("definitions", "CustomResourceDefinitions")
        return
    known = {crd["metadata"]["name"]: crd for crd in facts.definitions}
    faults = [_fault(wanted, known.get(wanted["metadata"]["name"])) for wanted in all_crds()]
    missing = [name for name, fault in faults if fault == "missing"]
    if missing:
        yield failure("definitions", f"The cluster does not know {', '.join(missing)}.", _APPLY)
    for name, fault in faults:
        if fault == "not established":
            yield failure(
                "definitions",
                f"{name} is not established.",
                f"See the conditions: kubectl describe crd {name}",
            )
        if fault == "different":
            yield warning("definitions", f"{name} is of another release than this command.", _APPLY)
    if not any(fault for _, fault in faults):
        yield ok("definitions", f"{len(faults)} kinds of Private LLM, as this release defines them")


def traefik(facts: Facts) -> Iterator[Finding]:
    """Traefik's kinds must be there."""
    if facts.definitions is None:
        return
    known = {crd["metadata"]["name"] for crd in facts.definitions}
    missing = [name for name in TRAEFIK if f"{name}.traefik.io" not in known]
    if missing:
        yield failure(
            "traefik kinds",
            f"The cluster lacks {', '.join(missing)} of traefik.io, so Traefik routes nothing.",
            "Install Traefik's custom resource definitions; its Helm chart brings them.",
        )
    else:
        yield ok("traefik kinds", f"all {len(TRAEFIK)} of traefik.io")


def _fault(wanted: Manifest, live: Manifest | None) -> tuple[str, str]:
    name = wanted["metadata"]["name"]
    if live is None:
        return name, "missing"
    conditions = (live.get("status") or {}).get("conditions") or ()
    if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
        return name, "not established"
    (version,) = wanted["spec"]["versions"]
    stored = next((v for v in live["spec"]["versions"] if v["name"] == version["name"]), None)
    is_same = (
        stored is not None and stored["served"] and contains(stored["schema"], version["schema"])
    )
    return name, "" if is_same else "different"


def contains(stored: Any, wanted: Any) -> bool:
    """Say whether a stored value has everything that is wanted; the API server may add defaults."""
    if isinstance(wanted, Mapping):
        return isinstance(stored, Mapping) and all(
            contains(stored.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(stored, Sequence)
            and len(stored) == len(wanted)
            and all(map(contains, stored, wanted))
        )
    return bool(stored == wanted)
