"""Take a request's path apart: which workspace or virtual workspace, which resource, which object. Pure."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

_SEGMENT = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_WORKSPACE = re.compile(rf"{_SEGMENT}(:{_SEGMENT})*")
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Export:
    """The export whose virtual workspace is asked."""

    cluster: str
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """The front half of a path.

    Attributes:
        workspace: A path, a cluster's name, ``*``, or nothing when it is missing.
        export: Set in a virtual workspace.
        rest: The Kubernetes path behind it.
    """

    workspace: str
    export: Export | None
    rest: str

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """Return the place of a path, or ``None`` when it names no cluster at all."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        export = None
        if parts[:2] == ["services", "apiexport"] and len(parts) >= 4:  # noqa: PLR2004 - cluster and name
            export, parts = Export(parts[2], parts[3]), parts[4:]
        if parts[:1] == ["clusters"] and len(parts) > 1:
            workspace = parts[1]
            known = workspace == "*" or _WORKSPACE.fullmatch(workspace)
            return cls(workspace, export, "/".join(parts[2:])) if known else None
        return cls("", export, "/".join(parts)) if export else None


@dataclass(frozen=True, slots=True)
class Resource:
    """The back half of a path: a collection, an object or its subresource."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @classmethod
    def parse(cls, rest: str) -> Self | None:
        """Return the resource of a path, or ``None`` for discovery and other non-resource paths."""
        parts = [part for part in rest.split("/") if part]
        if parts[:1] == ["api"] and len(parts) > 2:  # noqa: PLR2004 - version and resource
            group, version, tail = "", parts[1], parts[2:]
        elif parts[:1] == ["apis"] and len(parts) > 3:  # noqa: PLR2004 - and the group
            group, version, tail = parts[1], parts[2], parts[3:]
        else:
            return None
        namespace = ""
        inside = tail[0] == "namespaces" and len(tail) > 2  # noqa: PLR2004 - something behind the name
        if inside and (group or tail[2] not in _NAMESPACE_SUBRESOURCES):
            namespace, tail = tail[1], tail[2:]
        padded = [*tail, "", ""]
        return cls(group, version, padded[0], namespace, padded[1], padded[2])

    @property
    def is_namespaces(self) -> bool:
        """Whether these are Namespace objects themselves."""
        return not self.group and self.plural == "namespaces"

    @property
    def root(self) -> str:
        """The path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def verb_of(method: str, resource: Resource, *, watching: bool) -> str:
    """Return the Kubernetes verb of a request."""
    if method == "GET":
        return "get" if resource.name else "watch" if watching else "list"
    if method == "DELETE":
        return "delete" if resource.name else "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch"}.get(method, method.lower())
