"""A CustomResourceDefinition as kcp shall see it. Pure: definition in, projected definition out."""

import re
from typing import Any

from privatellm.errors import InvalidInputError
from privatellm.kube import Manifest
from privatellm_sync_agent.published.spec import Projection, PublishedResourceSpec


class ProjectionError(InvalidInputError):
    """The definition and the projection do not fit together."""


def projected(crd: Manifest, spec: PublishedResourceSpec) -> dict[str, Any]:
    """Return the spec of a definition after choosing and renaming versions, kind, group and scope.

    Raises:
        ProjectionError: when a chosen or renamed version does not exist, or two get one name.
    """
    source = crd["spec"]
    versions = _chosen(source["versions"], spec.resource.chosen_versions)
    versions = _renamed(versions, _version_names(versions, spec.projection))
    return {
        "group": spec.projection.group or source["group"],
        "scope": spec.projection.scope or source["scope"],
        "names": _names(source["names"], spec.projection),
        "versions": versions,
    }


def storage_version(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the version objects are stored in."""
    return next(version for version in definition["versions"] if version.get("storage"))


def local_version(crd: Manifest, spec: PublishedResourceSpec) -> dict[str, Any]:
    """Return the version through which local copies are read and written."""
    chosen = _chosen(crd["spec"]["versions"], spec.resource.chosen_versions)
    return next(version for version in chosen if version["storage"])


def _chosen(versions: list[dict[str, Any]], wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    known = {version["name"] for version in versions}
    if unknown := sorted(set(wanted) - known):
        raise ProjectionError(
            f"The definition has the versions {', '.join(sorted(known))}; not {', '.join(unknown)}."
        )
    kept = [version for version in versions if not wanted or version["name"] in wanted]
    if any(version["storage"] for version in kept):
        return kept
    served = [version["name"] for version in kept if version["served"]]
    if not served:
        raise ProjectionError("None of the chosen versions is served.")
    # As upstream: the last served one becomes the storage version when that was left out.
    return [version | {"storage": version["name"] == served[-1]} for version in kept]


def _version_names(versions: list[dict[str, Any]], projection: Projection) -> dict[str, str]:
    if not projection.version:
        return projection.versions
    if len(versions) != 1:
        raise ProjectionError(
            f"projection.version can rename one version only, there are {len(versions)}; "
            "use projection.versions."
        )
    return {versions[0]["name"]: projection.version}


def _renamed(versions: list[dict[str, Any]], names: dict[str, str]) -> list[dict[str, Any]]:
    known = [version["name"] for version in versions]
    if unknown := sorted(set(names) - set(known)):
        raise ProjectionError(
            f"projection.versions renames {', '.join(unknown)}, which is not there."
        )
    renamed = [
        version | {"name": names.get(version["name"], version["name"])} for version in versions
    ]
    if len({version["name"] for version in renamed}) != len(renamed):
        raise ProjectionError("projection.versions gives two versions one name.")
    return sorted(renamed, key=lambda version: _priority(version["name"])) if names else renamed


def _names(source: dict[str, Any], projection: Projection) -> dict[str, Any]:
    names = dict(source)
    if projection.kind:
        singular = projection.kind.lower()
        names |= {
            "kind": projection.kind,
            "listKind": f"{projection.kind}List",
            "singular": singular,
            "plural": f"{singular}s",
        }
    if projection.plural:
        names["plural"] = projection.plural
    if projection.short_names is not None:
        names["shortNames"] = list(projection.short_names)
    if projection.categories is not None:
        names["categories"] = list(projection.categories)
    return names


_KUBE_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def _priority(name: str) -> tuple[int, int, int, int, str]:
    """Return the key that sorts versions as Kubernetes does: v2, v1, v1beta2, v1alpha1, others."""
    match = _KUBE_VERSION.fullmatch(name)
    if match is None:
        return (1, 0, 0, 0, name)
    return (0, _STABILITY[match[2]], -int(match[1]), -int(match[3] or 0), name)
