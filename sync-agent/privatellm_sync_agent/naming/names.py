"""Where the local copy of an object lives: its namespace and name in the service cluster.

Patterns are Go templates or upstream's deprecated ``$placeholders``. What they yield must be a legal name;
an illegal or too long one is refused, because a silent repair could make two tenants' names meet. That two
objects of different tenants yield one name is noticed by the ownership of the copy, not here.
"""

import re
from dataclasses import dataclass
from typing import Any, Self

from typing_extensions import override

from privatellm.errors import InvalidInputError
from privatellm.names import LONGEST_LABEL_VALUE, LONGEST_OBJECT_NAME
from privatellm_sync_agent.naming import hashes
from privatellm_sync_agent.templates import Template

DEFAULT_NAMESPACE = "{{ .ClusterName }}"
DEFAULT_NAME = (
    "{{ .Object.metadata.namespace | sha3short }}-{{ .Object.metadata.name | sha3short }}"
)
DEFAULT_CLUSTER_SCOPED_NAME = "{{ .Object.metadata.name | sha3short }}"
"""Upstream's default name needs a namespace and fails for objects without one."""

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAMESPACE = re.compile(_LABEL)
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LEGACY_HASH = 20


class IllegalNameError(InvalidInputError):
    """A naming rule yielded something that no object can be called."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which object of which workspace: the key of everything we do."""

    cluster: str
    namespace: str
    name: str

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> Self:
        """Return the identity of an object as kcp serves it."""
        metadata = manifest["metadata"]
        cluster = (metadata.get("annotations") or {}).get("kcp.io/cluster", "")
        return cls(cluster, metadata.get("namespace", ""), metadata["name"])

    @override
    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.cluster}|{place}" if self.cluster else place


@dataclass(frozen=True, slots=True)
class NamingRule:
    """How local copies of one published resource are called."""

    namespace: str = ""
    name: str = ""

    def local_name(
        self, remote: dict[str, Any], cluster_path: str = "", *, namespaced: bool = True
    ) -> Identity:
        """Return namespace and name of the local copy of an object.

        Args:
            remote: The object in its workspace.
            cluster_path: The workspace's path, when it is known.
            namespaced: Whether copies live in namespaces. When they do not, the default name tells
                workspaces apart, which upstream's does not.

        Raises:
            TemplateError: when a pattern cannot be rendered for this object.
            IllegalNameError: when it yields no legal namespace or name.
        """
        in_namespace = bool(remote["metadata"].get("namespace"))
        default = DEFAULT_NAME if in_namespace else DEFAULT_CLUSTER_SCOPED_NAME
        default = default if namespaced else f"{{{{ .ClusterName }}}}-{default}"
        namespace = _rendered(self.namespace or DEFAULT_NAMESPACE, remote, cluster_path)
        name = _rendered(self.name or default, remote, cluster_path)
        return Identity("", checked_namespace(namespace), checked_name(name))


def checked_namespace(namespace: str) -> str:
    """Return a namespace's name if it is legal (RFC 1123 label, 63 characters)."""
    if len(namespace) > LONGEST_LABEL_VALUE or not _NAMESPACE.fullmatch(namespace):
        raise IllegalNameError(
            f"naming.namespace must yield an RFC 1123 label of at most 63 characters; got "
            f"{namespace[:80]!r}. Hash the long part with sha3short."
        )
    return namespace


def checked_name(name: str) -> str:
    """Return an object's name if it is legal (RFC 1123 subdomain, 253 characters)."""
    if len(name) > LONGEST_OBJECT_NAME or not _NAME.fullmatch(name):
        raise IllegalNameError(
            f"A name must be an RFC 1123 subdomain of at most 253 characters; got {name[:80]!r}. "
            "Hash the long part with sha3short."
        )
    return name


def _rendered(pattern: str, remote: dict[str, Any], cluster_path: str) -> str:
    identity = Identity.of(remote)
    if "{{" not in pattern:
        return _legacy(pattern, identity)
    return Template.parse(pattern).render(
        {"Object": remote, "ClusterName": identity.cluster, "ClusterPath": cluster_path}
    )


def _legacy(pattern: str, identity: Identity) -> str:
    # The hashes come first: their placeholders begin like the shorter ones.
    values = {
        "$remoteNamespaceHash": hashes.sha1(identity.namespace)[:_LEGACY_HASH],
        "$remoteNameHash": hashes.sha1(identity.name)[:_LEGACY_HASH],
        "$remoteClusterName": identity.cluster,
        "$remoteNamespace": identity.namespace,
        "$remoteName": identity.name,
    }
    placeholder = re.compile("|".join(re.escape(key) for key in values))
    return placeholder.sub(lambda match: values[match[0]], pattern)
