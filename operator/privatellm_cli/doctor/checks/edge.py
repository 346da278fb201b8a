"""The edge: the settings without which Traefik routes wrongly, or lets in what it must not.

Each setting is here for a reason that is told when it is wrong. The embedded environment's configuration is
held to the same list by a test.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from privatellm.kube import Manifest
from privatellm_cli.doctor.facts import Facts, Installation, Traefik
from privatellm_cli.doctor.findings import Finding, Level, failure, hidden, ok, unknown, warning
from privatellm_local.edge.configuration import ENCODED_CHARACTERS

OLDEST = (3, 7, 13)
"""Earlier releases have holes in what we rely on: ForwardAuth, path handling, upgrades."""

CONTROLLER = "traefik.io/ingress-controller"
SHARED_CHAIN = "private-llm"
MUST_PASS = tuple(f"private-llm-{part}" for part in ("upgrade", "cors", "auth", "strip"))
"""What every request passes in this order, whatever else a release puts between."""

_CHANGE = "Change Traefik's static configuration and restart it."


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of Traefik that we rely on.

    Attributes:
        name: Dotted name, in lower case.
        wanted: The value it must have.
        reason: What goes wrong otherwise.
        level: How bad that is.
        default: What Traefik does when it is not set.
    """

    name: str
    wanted: str
    reason: str
    level: Level = Level.FAILURE
    default: str = "false"

    def fault(self, traefik: Traefik) -> Finding | None:
        """Return what is wrong with it."""
        value = traefik.settings.get(self.name, self.default)
        if value.lower() == self.wanted.lower():
            return None
        message = f"{self.name} must be {self.wanted} and is {value or 'not set'}: {self.reason}"
        return Finding("traefik", self.level, message, _CHANGE)


def wanted_settings(installation: Installation) -> tuple[Setting, ...]:
    """Return the list, for the names that an installation uses."""
    ingress, crd = "providers.kubernetesingress", "providers.kubernetescrd"
    safe = "true" if installation.separator == "_" else "false"
    common = (
        Setting(
            f"{ingress}.strictprefixmatching", "true", "/llm/abc would match /llm/abcdef as well."
        ),
        Setting(
            f"{ingress}.allowemptyservices",
            "true",
            "an instance without a ready server would answer 404, without a check.",
        ),
        Setting(
            f"{ingress}.ingressclass",
            installation.ingress_class,
            "Ingresses of other classes would be served too, past our policies.",
            Level.WARNING,
            default="",
        ),
        Setting(f"{crd}.allowcrossnamespace", "false", "tenants could name each other's backends."),
        Setting(
            f"{crd}.safenaming",
            safe,
            "names are joined ambiguously, or not as the operator writes them; a middleware could be "
            "shadowed, or every route answers 404.",
        ),
        Setting(
            f"{ingress}.allowexternalnameservices",
            "false",
            "a Service could send prompts out of the cluster.",
        ),
        Setting(
            "serverstransport.maxidleconnsperhost",
            "-1",
            "llama.cpp closes its connections behind streams; a request on a kept one is answered 502.",
            default="200",
        ),
    )
    return (*common, *(s for e in installation.entry_points for s in _of_entry_point(e.lower())))


def ingress_class(facts: Facts) -> Iterator[Finding]:
    """The class of our Ingresses must exist, be Traefik's, and not be everybody's."""
    if facts.ingress_classes is None:
        yield hidden("ingress class", "IngressClasses")
        return
    name = facts.installation.ingress_class
    found = next((c for c in facts.ingress_classes if c["metadata"]["name"] == name), None)
    if found is None:
        yield failure(
            "ingress class",
            f"There is no IngressClass {name}, so no instance is routed.",
            "Create it with Traefik, or set PRIVATE_LLM_INGRESS_CLASS of the operator.",
        )
        return
    annotations = found["metadata"].get("annotations") or {}
    if found["spec"].get("controller") != CONTROLLER:
        yield failure(
            "ingress class",
            f"IngressClass {name} belongs to {found['spec'].get('controller')}, not to Traefik.",
            "Give the operator a class of Traefik's.",
        )
    elif annotations.get("ingressclass.kubernetes.io/is-default-class") == "true":
        yield failure(
            "ingress class",
            f"IngressClass {name} is the cluster's default: Ingresses without a class land on our edge.",
            "Take the annotation ingressclass.kubernetes.io/is-default-class off it.",
        )
    else:
        yield ok("ingress class", f"{name} is Traefik's and not the default")


def middlewares(facts: Facts) -> Iterator[Finding]:
    """The shared middlewares must exist, and the chain must check before it strips."""
    if facts.middlewares is None:
        yield hidden("middlewares", f"Middlewares in {facts.installation.namespace}")
        return
    known = {m["metadata"]["name"]: m["spec"] for m in facts.middlewares}
    chains = {name: _links(spec) for name, spec in known.items() if "chain" in spec}
    named = {link for links in chains.values() for link in links}
    if missing := sorted({SHARED_CHAIN, *MUST_PASS, *named} - set(known)):
        yield failure(
            "middlewares",
            f"{', '.join(missing)} do not exist in {facts.installation.namespace}: every route is 404.",
            "The operator creates them; see its log.",
        )
    elif broken := sorted(name for name, links in chains.items() if not _passes(links, MUST_PASS)):
        yield failure(
            "middlewares",
            f"The chain {', '.join(broken)} does not pass {', '.join(MUST_PASS)} in this order.",
            "The operator repairs it; if it does not, see its log.",
        )
    else:
        yield ok("middlewares", f"{len(known)} in {facts.installation.namespace}, in a safe order")


def _links(spec: Manifest) -> tuple[str, ...]:
    return tuple(str(link["name"]) for link in spec["chain"]["middlewares"])


def _passes(links: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Say whether a chain has all that is wanted, in that order."""
    return tuple(link for link in links if link in wanted) == wanted


def settings(facts: Facts) -> Iterator[Finding]:
    """Every Traefik that can be seen must have the settings that we rely on."""
    if not facts.traefiks:
        yield unknown(
            "traefik",
            "No Traefik can be seen: it may run outside of the cluster, be configured by a file, or carry "
            "other labels than its chart's.",
            "Compare its settings with docs/how-to/use-the-cli.md yourself.",
        )
    for seen in facts.traefiks:
        faults = [fault for s in wanted_settings(facts.installation) if (fault := s.fault(seen))]
        faults += filter(None, [_too_old(seen)])
        yield from faults
        if not faults:
            yield ok(
                "traefik",
                f"{seen.version or 'unknown version'}, settings as needed ({seen.origin})",
            )


def asks_for_keys(facts: Facts) -> Iterator[Finding]:
    """A request without a key must get a 401 from our authserver, on the way that customers use."""
    answer = facts.edge
    if answer is None:
        yield unknown("edge", "No instance has an endpoint that could be tried.")
    elif answer.status == 401 and answer.challenge.startswith("Bearer"):  # noqa: PLR2004 - HTTP
        yield ok("edge", f"asks for a key at {facts.edge_url}")
    elif answer.status == 0:
        yield warning(
            "edge",
            f"{facts.edge_url} cannot be reached from here: {answer.text}.",
            "Check PUBLIC_HOST, DNS and the way from this machine to the edge.",
        )
    elif answer.status < 300:  # noqa: PLR2004 - HTTP's good answers
        yield failure(
            "edge",
            f"{facts.edge_url} answers WITHOUT a key ({answer.status}).",
            "Take the edge off the network and compare its chain of middlewares.",
        )
    else:
        yield failure(
            "edge",
            f"{facts.edge_url} answers {answer.status} instead of asking for a key.",
            "404: Traefik does not know the route. 5xx: Traefik does not reach the authserver.",
        )


def _of_entry_point(name: str) -> Iterator[Setting]:
    prefix = f"entrypoints.{name}"
    yield Setting(
        f"{prefix}.forwardedheaders.insecure", "false", "clients could forge where they come from."
    )
    yield Setting(
        f"{prefix}.http.aliasheadersstrategy",
        "delete",
        "X_Auth_User could pass for X-Auth-User behind the edge (CVE-2026-39858).",
        Level.WARNING,
        default="keep",
    )
    for option in ENCODED_CHARACTERS:
        yield Setting(
            f"{prefix}.http.encodedcharacters.{option.lower()}",
            "false",
            "encoded separators reach the servers.",
            Level.WARNING,
            default="true",
        )


def _too_old(seen: Traefik) -> Finding | None:
    if not seen.version:
        return unknown("traefik", f"The version of {seen.origin} cannot be told from its image.")
    if tuple(map(int, seen.version.split("."))) >= OLDEST:
        return None
    oldest = ".".join(map(str, OLDEST))
    return failure(
        "traefik", f"{seen.origin} is Traefik {seen.version}.", f"Upgrade it to {oldest} or newer."
    )
