"""Rewrite objects between what a workspace sees and what is stored. Pure; arguments stay as they are."""

from dataclasses import dataclass, replace
from typing import Any

from privatellm.kube import Manifest
from privatellm_local.kcp import labels
from privatellm_local.kcp.names import backing_name, backing_namespace
from privatellm_local.kcp.urls import Resource

_REFERENCES = ("involvedObject", "regarding")
"""Where events name their object; its namespace must be the event's own."""


@dataclass(frozen=True, slots=True)
class Inward:
    """Rewrites what a client of one cluster sends."""

    cluster: str
    resource: Resource

    def path(self) -> str:
        """Return the stored collection's or object's path."""
        target = self.resource
        if target.is_namespaces:
            name = backing_namespace(self.cluster, target.name) if target.name else ""
        else:
            name = target.name
            if name and not target.namespace:
                name = backing_name(self.cluster, name)
        scope = ""
        if target.namespace:
            scope = f"/namespaces/{backing_namespace(self.cluster, target.namespace)}"
        tail = "".join(f"/{part}" for part in (target.plural, name, target.subresource) if part)
        return f"{target.root}{scope}{tail}"

    def whole(self, body: Manifest, claims: dict[str, str] | None = None) -> Manifest:
        """Return an object to create, replace or apply, with the marks that it needs."""
        metadata = dict(body.get("metadata") or {})
        kept = {
            key: value
            for key, value in (metadata.get("labels") or {}).items()
            if not key.startswith((labels.PREFIX, labels.CLAIMED_PREFIX))
        }
        annotations = {
            key: value
            for key, value in (metadata.get("annotations") or {}).items()
            if not key.startswith(labels.PREFIX) and key != labels.KCP_CLUSTER
        }
        metadata["labels"] = kept | (claims or {}) | {labels.CLUSTER: self.cluster}
        metadata["annotations"] = annotations | self._namespace_note(metadata)
        return self.partial(body | {"metadata": metadata})

    def partial(self, body: Manifest) -> Manifest:
        """Return an object or a patch of one with its names rewritten where it has any."""
        metadata = dict(body.get("metadata") or {})
        names: dict[str, str] = {}
        if metadata.get("namespace"):
            names["namespace"] = backing_namespace(self.cluster, metadata["namespace"])
        elif self.resource.namespace and "name" in metadata:
            names["namespace"] = backing_namespace(self.cluster, self.resource.namespace)
        for field in ("name", "generateName"):
            if metadata.get(field):
                names[field] = self._name(metadata[field])
        result = body | {"metadata": metadata | names} if metadata else dict(body)
        return result | self._references(body)

    def field_selector(self, text: str) -> str:
        """Return a field selector with its names rewritten."""
        return ",".join(self._field(term) for term in text.split(",") if term)

    def _name(self, name: str) -> str:
        if self.resource.is_namespaces:
            return backing_namespace(self.cluster, name)
        return name if self.resource.namespace else backing_name(self.cluster, name)

    def _namespace_note(self, metadata: Manifest) -> dict[str, str]:
        namespace = metadata.get("name") if self.resource.is_namespaces else self.resource.namespace
        return {labels.NAMESPACE: namespace} if namespace else {}

    def _references(self, body: Manifest) -> Manifest:
        namespace = backing_namespace(self.cluster, self.resource.namespace)
        return {
            field: body[field] | {"namespace": namespace}
            for field in _REFERENCES
            if isinstance(body.get(field), dict) and self.resource.namespace
        }

    def _field(self, term: str) -> str:
        key, _, value = term.partition("=")
        if key == "metadata.name" and not self._lists_in_namespaces():
            return f"{key}={self._name(value)}"
        if key == "metadata.namespace":
            return f"{key}={backing_namespace(self.cluster, value)}"
        return term

    def _lists_in_namespaces(self) -> bool:
        return not self.resource.is_namespaces and bool(self.resource.namespace)


def outward(stored: Manifest, kind: Manifest | None = None) -> Manifest:
    """Return an object as its workspace sees it, with ``kcp.io/cluster``.

    Args:
        stored: The object as the API server sent it; a bookmark has no cluster and stays as it is.
        kind: ``apiVersion`` and ``kind`` for items of a list, which carry none.
    """
    metadata = dict(stored.get("metadata") or {})
    marks = metadata.get("labels") or {}
    cluster = marks.get(labels.CLUSTER)
    if cluster is None:
        return dict(stored)
    notes = metadata.get("annotations") or {}
    namespace = notes.get(labels.NAMESPACE, "")
    metadata["labels"] = {k: v for k, v in marks.items() if not k.startswith(labels.PREFIX)}
    metadata["annotations"] = {
        k: v for k, v in notes.items() if not k.startswith(labels.PREFIX)
    } | {labels.KCP_CLUSTER: cluster}
    typed = (kind or {}) | stored
    if not metadata["labels"]:
        del metadata["labels"]
    return (
        typed | {"metadata": _named(metadata, cluster, namespace, typed)} | _seen(typed, namespace)
    )


def _named(metadata: Manifest, cluster: str, namespace: str, typed: Manifest) -> Manifest:
    if typed.get("kind") == "Namespace" and typed.get("apiVersion") == "v1":
        seen = {"name": namespace}
        if "labels" in metadata:
            seen_labels = metadata["labels"] | {"kubernetes.io/metadata.name": namespace}
            return metadata | seen | {"labels": seen_labels}
        return metadata | seen
    if namespace:
        return metadata | {"namespace": namespace}
    return metadata | {"name": metadata["name"].removeprefix(f"{cluster}.")}


def _seen(typed: Manifest, namespace: str) -> Manifest:
    return {
        field: typed[field] | {"namespace": namespace}
        for field in _REFERENCES
        if isinstance(typed.get(field), dict) and namespace
    }


def outward_list(stored: Manifest) -> Manifest:
    """Return a list whose items are seen from their workspaces and say what they are."""
    kind = {
        "apiVersion": stored["apiVersion"],
        "kind": str(stored["kind"]).removesuffix("List"),
    }
    items: list[Any] = [outward(item, kind) for item in stored.get("items") or []]
    return stored | {"items": items}


def outward_status(status: Manifest, cluster: str, resource: Resource) -> Manifest:
    """Return an error in which the stored names are not told."""
    seen, stored = resource.name, Inward(cluster, replace(resource, subresource="")).path()
    hidden = stored.rsplit("/", 1)[-1]
    message = (
        str(status.get("message", "")).replace(hidden, seen) if seen else status.get("message")
    )
    details = dict(status.get("details") or {})
    if details.get("name", "").startswith((f"{cluster}.", f"w-{cluster}-")):
        details["name"] = seen or details["name"].removeprefix(f"{cluster}.")
    return status | {"message": message} | ({"details": details} if details else {})
