"""Who may do what: identities by token, and the checks of an export's virtual workspace. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from privatellm.kube import Manifest
from privatellm_local.kcp.urls import Export, Resource


class Role(StrEnum):
    """What an identity is."""

    ADMIN = "admin"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller.

    Attributes:
        name: For messages.
        role: An admin may do everything; a member works in its workspaces.
        workspaces: Paths of the workspaces it may use, with everything below them.
        content_of: Names of exports in those workspaces whose virtual workspaces it may use.
    """

    name: str
    role: Role = Role.MEMBER
    workspaces: tuple[str, ...] = ()
    content_of: tuple[str, ...] = ()

    def may_use(self, path: str) -> bool:
        """Return whether the identity may use the workspace at a path."""
        return self.role is Role.ADMIN or any(
            path == own or path.startswith(f"{own}:") for own in self.workspaces
        )

    def may_serve(self, export: Export, export_path: str) -> bool:
        """Return whether the identity has the content of an export."""
        if self.role is Role.ADMIN:
            return True
        return export.name in self.content_of and export_path in self.workspaces


class Tokens:
    """A static table of bearer tokens, as kcp's token file is one; tests may add and revoke."""

    def __init__(self, known: Mapping[str, Identity]) -> None:
        self._known = dict(known)

    def add(self, token: str, identity: Identity) -> None:
        """Accept a token from now on."""
        self._known[token] = identity

    def revoke(self, token: str) -> None:
        """Refuse a token from now on."""
        self._known.pop(token, None)

    def identity(self, authorization: str) -> Identity | None:
        """Return who sends this ``Authorization`` header."""
        scheme, _, token = authorization.partition(" ")
        return self._known.get(token.strip()) if scheme.lower() == "bearer" else None


@dataclass(frozen=True, slots=True)
class Reach:
    """What an export reaches in one cluster: what it provides, and what was claimed and accepted."""

    export: Manifest
    binding: Manifest

    def allows(self, resource: Resource, verb: str) -> bool:
        """Return whether the export's owner may do this in the cluster."""
        if (resource.group, resource.plural) == ("apis.kcp.io", "apibindings"):
            return verb in ("get", "list", "watch")
        bound = (self.binding.get("status") or {}).get("boundResources") or []
        if any(
            one["group"] == resource.group and one["resource"] == resource.plural for one in bound
        ):
            return True
        accepted = find_claim(accepted_claims(self.binding), resource)
        offered = find_claim(claims_of(self.export), resource)
        return bool(accepted and offered and _permits(accepted, verb) and _permits(offered, verb))


def claims_of(manifest: Manifest) -> Iterable[dict[str, Any]]:
    """Return the permission claims of an export or a binding."""
    found: list[dict[str, Any]] = (manifest.get("spec") or {}).get("permissionClaims") or []
    return found


def accepted_claims(binding: Manifest) -> tuple[dict[str, Any], ...]:
    """Return the claims that a customer accepted."""
    return tuple(claim for claim in claims_of(binding) if claim.get("state") == "Accepted")


def find_claim(claims: Iterable[dict[str, Any]], resource: Resource) -> dict[str, Any] | None:
    """Return the claim on a resource; the two groups of events count as one."""
    wanted = _canonical(resource.group, resource.plural)
    return next(
        (one for one in claims if _canonical(one.get("group", ""), one["resource"]) == wanted), None
    )


def selects(claim: dict[str, Any], found: Mapping[str, str]) -> bool:
    """Return whether a claim's selector selects an object with these labels."""
    selector = claim.get("selector") or {}
    wanted = selector.get("matchLabels") or {}
    return all(found.get(key) == value for key, value in wanted.items())


def _permits(claim: dict[str, Any], verb: str) -> bool:
    verbs = claim.get("verbs") or []
    return "*" in verbs or verb in verbs


def _canonical(group: str, plural: str) -> tuple[str, str]:
    return ("", plural) if plural == "events" and group == "events.k8s.io" else (group, plural)
