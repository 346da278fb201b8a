"""Discovery documents of a workspace or a virtual workspace. Pure."""

from collections.abc import Iterable

from privatellm.kube import Manifest
from privatellm.kube.kinds import Kind

VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def document(rest: str, kinds: Iterable[Kind]) -> Manifest | None:
    """Return the document of a discovery path, or ``None`` when it is none or nothing is served there.

    Args:
        rest: The path behind the cluster, such as ``apis/apis.kcp.io/v1alpha2``.
        kinds: What is served.
    """
    served = tuple(kinds)
    parts = rest.strip("/").split("/")
    match parts:
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"]}
        case ["apis"]:
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(served)}
        case ["api", version]:
            return _resources("", version, served)
        case ["apis", group]:
            return next((one for one in _groups(served) if one["name"] == group), None)
        case ["apis", group, version]:
            return _resources(group, version, served)
        case _:
            return None


def _groups(kinds: tuple[Kind, ...]) -> list[Manifest]:
    groups: dict[str, list[str]] = {}
    for kind in kinds:
        versions = groups.setdefault(kind.group, [])
        if kind.version not in versions:
            versions.append(kind.version)
    return [_group(name, versions) for name, versions in sorted(groups.items()) if name]


def _group(name: str, versions: list[str]) -> Manifest:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _resources(group: str, version: str, kinds: tuple[Kind, ...]) -> Manifest | None:
    found = [kind for kind in kinds if (kind.group, kind.version) == (group, version)]
    if not found:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [
            {
                "name": kind.plural,
                "singularName": kind.name.lower(),
                "namespaced": kind.namespaced,
                "kind": kind.name,
                "verbs": VERBS,
            }
            for kind in found
        ],
    }
