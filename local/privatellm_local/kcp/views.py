"""What a workspace and a virtual workspace serve, read from the registry."""

from collections.abc import Iterator
from dataclasses import dataclass

from privatellm.kube.kinds import Kind
from privatellm_local.kcp import labels
from privatellm_local.kcp.access import claims_of, find_claim
from privatellm_local.kcp.definitions import kind_of
from privatellm_local.kcp.kinds import API_BINDING, API_EXPORT, BUILT_IN
from privatellm_local.kcp.registry import Registry
from privatellm_local.kcp.urls import Export, Resource


@dataclass(frozen=True, slots=True)
class Views:
    """Answers questions about what is served where."""

    registry: Registry

    def in_workspace(self, cluster: str) -> Iterator[Kind]:
        """Return what a workspace serves: built-in kinds and those it is bound to."""
        yield from BUILT_IN
        for binding in self.registry.all(API_BINDING):
            if binding["metadata"]["annotations"][labels.KCP_CLUSTER] == cluster:
                yield from self._bound(binding)

    def in_virtual_workspace(self, export: Export) -> Iterator[Kind]:
        """Return what the virtual workspace of an export serves while it has a binding."""
        yield API_BINDING
        found = self.registry.get(API_EXPORT, export.cluster, export.name)
        if found is None or not any(self.registry.bindings_to(export)):
            return
        yield from self.exported(export)
        for claim in claims_of(found):
            yield from self._kinds(claim.get("group", ""), claim["resource"])

    def exported(self, export: Export) -> Iterator[Kind]:
        """Return the kinds an export provides."""
        for schema in self.registry.schemas_of(export):
            yield kind_of(schema)

    def wildcard_selector(self, export: Export, resource: Resource) -> str | None:
        """Return the label selector of a wildcard list, or ``None`` when it is not served."""
        if (resource.group, resource.plural) == (API_BINDING.group, API_BINDING.plural):
            return f"{labels.EXPORT}={labels.export_hash(export.cluster, export.name)}"
        if not any(self.registry.bindings_to(export)):
            return None
        if any(_is(kind, resource) for kind in self.exported(export)):
            return labels.CLUSTER
        found = self.registry.get(API_EXPORT, export.cluster, export.name)
        claim = find_claim(claims_of(found), resource) if found else None
        if claim is None:
            return None
        return f"{labels.claim_key(export.cluster, export.name)}={labels.claim_value(claim)}"

    def serves(self, kinds: Iterator[Kind], resource: Resource) -> bool:
        """Return whether a resource is among kinds, at any version."""
        return any(_is(kind, resource) for kind in kinds)

    def kind(self, group: str, plural: str) -> Kind | None:
        """Return a kind that is served anywhere."""
        return next(self._kinds(group, plural), None)

    def _bound(self, binding: dict[str, object]) -> Iterator[Kind]:
        found = self.registry.export_of(binding)
        status = binding.get("status")
        if found and isinstance(status, dict) and status.get("phase") == "Bound":
            yield from self.exported(found[0])

    def _kinds(self, group: str, plural: str) -> Iterator[Kind]:
        yield from (kind for kind in BUILT_IN if (kind.group, kind.plural) == (group, plural))
        for export in self.registry.all(API_EXPORT):
            metadata = export["metadata"]
            place = Export(metadata["annotations"][labels.KCP_CLUSTER], metadata["name"])
            for kind in self.exported(place):
                if (kind.group, kind.plural) == (group, plural):
                    yield kind


def _is(kind: Kind, resource: Resource) -> bool:
    return (kind.group, kind.plural) == (resource.group, resource.plural)
