"""What the APIExport shall say: its resources and the least claims that syncing needs. Pure.

Entries and claims of others are never touched, and nothing of ours is taken back: removing an entry would
make customers' objects vanish. Claims name verbs; a claim that exists is widened by the verbs it lacks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.objects.ownership import AGENT, COPY
from privatellm_sync_agent.published.related import Origin
from privatellm_sync_agent.published.spec import PublishedResourceSpec

API_EXPORT = Kind("apis.kcp.io", "v1alpha2", "APIExport", "apiexports", namespaced=False)

_READ = frozenset({"get", "list", "watch"})
_FINALIZE = _READ | {"update", "patch"}
_COPY = _FINALIZE | {"create", "delete"}
_REPORT = frozenset({"get", "create", "update", "patch"})


@dataclass(frozen=True, slots=True)
class Published:
    """A published resource whose schema exists in kcp."""

    spec: PublishedResourceSpec
    schema: str

    @property
    def resource(self) -> str:
        """The plural name in kcp, read from the schema's name."""
        return self.schema.split(".", 2)[1]

    @property
    def group(self) -> str:
        """The group in kcp, read from the schema's name."""
        return self.schema.split(".", 2)[2]


@dataclass(frozen=True, slots=True)
class Claim:
    """What we ask every customer to permit on one resource."""

    group: str
    resource: str
    identity: str
    verbs: frozenset[str]
    only_copies: bool = False

    def joined(self, other: "Claim") -> "Claim":
        """Return one claim that permits what both need."""
        only_copies = self.only_copies and other.only_copies
        return Claim(
            self.group, self.resource, self.identity, self.verbs | other.verbs, only_copies
        )

    def manifest(self) -> dict[str, Any]:
        """Return the claim as an export carries it."""
        claim: dict[str, Any] = {
            "group": self.group,
            "resource": self.resource,
            "verbs": sorted(self.verbs),
        }
        if self.identity:
            claim["identityHash"] = self.identity
        if self.only_copies:
            claim["defaultSelector"] = {"matchLabels": {COPY: "true"}}
        return claim


def needed_claims(published: Iterable[Published]) -> tuple[Claim, ...]:
    """Return the claims that syncing these resources needs, one a resource, in a stable order."""
    resources = tuple(published)
    exported = {(one.group, one.resource) for one in resources}
    claims: dict[tuple[str, str], Claim] = {}
    for one in resources:
        for claim in _claims_of(one.spec):
            key = (claim.group, claim.resource)
            if key not in exported:
                claims[key] = claims[key].joined(claim) if key in claims else claim
    return tuple(claims[key] for key in sorted(claims))


def updated_export(export: Manifest, published: Iterable[Published], agent: str) -> Manifest:
    """Return the export as it should be; equal to what was given when nothing is missing."""
    resources = tuple(published)
    spec = export.get("spec") or {}
    wanted = spec | {
        "resources": _resources(spec.get("resources") or [], resources),
        "permissionClaims": _permission_claims(
            spec.get("permissionClaims") or [], needed_claims(resources)
        ),
    }
    metadata = export["metadata"]
    annotations = (metadata.get("annotations") or {}) | {AGENT: agent}
    return export | {"metadata": metadata | {"annotations": annotations}, "spec": wanted}


def _claims_of(spec: PublishedResourceSpec) -> Iterable[Claim]:
    yield Claim("", "events", "", _REPORT)
    if spec.filter.namespace:
        yield Claim("", "namespaces", "", _READ)
    if spec.enable_workspace_paths:
        yield Claim("core.kcp.io", "logicalclusters", "", _READ)
    for related in spec.related:
        group, _, resource = related.kcp_resource
        namespaces = related.object.namespace
        if related.origin is Origin.KCP:
            yield Claim(group, resource, related.identity_hash, _FINALIZE)
            if namespaces and namespaces.selector:
                yield Claim("", "namespaces", "", _READ)
        else:
            yield Claim(group, resource, related.identity_hash, _COPY, only_copies=True)
            if namespaces:
                yield Claim("", "namespaces", "", _READ | {"create"})


def _resources(current: list[Any], published: tuple[Published, ...]) -> list[Any]:
    ours = {(one.resource, one.group): one.schema for one in published}
    kept = [entry for entry in current if (entry["name"], entry["group"]) not in ours]
    new = [
        {"name": name, "group": group, "schema": schema, "storage": {"crd": {}}}
        for (name, group), schema in ours.items()
    ]
    return sorted([*kept, *new], key=lambda entry: (entry["name"], entry["group"]))


def _permission_claims(current: list[Any], needed: tuple[Claim, ...]) -> list[Any]:
    claims = {(claim.get("group", ""), claim["resource"]): claim for claim in current}
    for claim in needed:
        key = (claim.group, claim.resource)
        claims[key] = _widened(claims[key], claim) if key in claims else claim.manifest()
    return [claims[key] for key in sorted(claims)]


def _widened(existing: dict[str, Any], needed: Claim) -> dict[str, Any]:
    verbs = set(existing.get("verbs") or [])
    if "*" in verbs or needed.verbs <= verbs:
        return existing
    return existing | {"verbs": sorted(verbs | needed.verbs)}
