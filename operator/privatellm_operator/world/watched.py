"""Which kinds are watched, with which selector, and by which terms their objects are found.

A term is a text by which a pass looks objects up without a scan: a controller's UID, a model's name. The
projection drops what no decision reads, because a thousand instances are six thousand objects.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import label_value

OURS = f"{labels.MANAGED_BY}={labels.MANAGED_BY_OPERATOR}"
"""Selector of everything that we created, and of the pods below it."""

_UNREAD_METADATA = ("managedFields", "selfLink", "generateName")


class Scope(Enum):
    """Where a kind is watched, which is where the operator has rights."""

    EVERYWHERE = auto()
    """In all of the cluster, whichever namespaces are served. What is bound in a namespace goes with it, so
    nobody could let go of the orders there: the namespace would never end."""

    TENANTS = auto()
    """In all namespaces, or in those that the settings name."""

    ONBOARDED = auto()
    """In each namespace that has an object of ours, by a right that its onboarding gave."""

    HOME = auto()
    """In the operator's own namespace."""

    CLUSTER = auto()
    """Where the cluster itself is described."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One kind as the operator watches it.

    Attributes:
        kind: The kind.
        terms: The terms under which an object is found.
        selector: Label selector of list and watch; empty for every object.
        scope: Where it is watched.
    """

    kind: Kind
    terms: Callable[[Manifest], Iterator[str]]
    selector: str = ""
    scope: Scope = Scope.TENANTS


def controller_of(manifest: Manifest) -> Manifest | None:
    """Return the ownerReference of the object's controller, if it has one."""
    references: list[Manifest] = manifest["metadata"].get("ownerReferences") or []
    return next((r for r in references if r.get("controller")), None)


def belongs_to(manifest: Manifest, uid: str) -> bool:
    """Say whether an object carries the UID of an instance.

    The owner tells. Somebody may have taken it away, and then the label does, which is written with it
    beside the one that admission lets nobody but the operator set.
    """
    controller = controller_of(manifest)
    return bool((controller["uid"] if controller else _uid_label(manifest)) == uid)


def seniority(manifest: Manifest) -> tuple[str, str]:
    """Return what sorts objects of one namespace by age; names decide where times do not."""
    metadata = manifest["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]


def projected(manifest: Manifest) -> Manifest:
    """Return the object without the metadata that nobody reads."""
    metadata = {k: v for k, v in manifest["metadata"].items() if k not in _UNREAD_METADATA}
    return manifest | {"metadata": metadata}


def in_namespace(namespace: str, name: str) -> str:
    """Return the term for a reference by name inside a namespace."""
    return f"{namespace}/{name}"


def run_with(model: str) -> str:
    """Return the term for the instances that want a server for a model."""
    return f"runs {model}"


def held_up_by(weights: str) -> str:
    """Return the term for pods that mount weights from a node's cache and have not begun to serve."""
    return f"waits for {weights}"


def _instance_terms(manifest: Manifest) -> Iterator[str]:
    metadata, spec = manifest["metadata"], manifest.get("spec") or {}
    model = str(spec.get("model", ""))
    yield metadata["uid"]
    yield model
    if spec.get("replicas") != 0:
        yield run_with(model)
    yield in_namespace(metadata["namespace"], label_value(metadata["name"]))
    yield in_namespace(metadata["namespace"], "")


def _request_terms(manifest: Manifest) -> Iterator[str]:
    metadata = manifest["metadata"]
    yield metadata["uid"]
    yield in_namespace(metadata["namespace"], (manifest.get("spec") or {}).get("instanceName", ""))
    yield in_namespace(metadata["namespace"], "")


def _child_terms(manifest: Manifest) -> Iterator[str]:
    controller = controller_of(manifest)
    if uid := controller["uid"] if controller else _uid_label(manifest):
        yield uid


def _secret_terms(manifest: Manifest) -> Iterator[str]:
    """Verifiers have no owner; they are found by the UIDs in their labels."""
    yield from _child_terms(manifest)
    for label in (labels.REQUEST_UID, labels.INSTANCE_UID):
        value = _labels(manifest).get(label)
        if value:
            yield value


def _uid_label(manifest: Manifest) -> str:
    found = _labels(manifest)
    is_marked = found.get(labels.MANAGED_BY) == labels.MANAGED_BY_OPERATOR
    return str(found.get(labels.INSTANCE_UID, "")) if is_marked else ""


def _pod_terms(manifest: Manifest) -> Iterator[str]:
    instance = _labels(manifest).get(labels.LLM_INSTANCE, "")
    yield in_namespace(manifest["metadata"]["namespace"], instance)
    if _prepares(manifest.get("status") or {}):
        for volume in (manifest.get("spec") or {}).get("volumes") or ():
            if path := (volume.get("hostPath") or {}).get("path", ""):
                yield held_up_by(path.rsplit("/", 1)[-1])


def _prepares(status: Manifest) -> bool:
    """Say whether an init container of a pod has still to end well."""
    if status.get("phase") in {"Succeeded", "Failed"}:
        return False
    ended = [
        ((container.get("state") or {}).get("terminated") or {}).get("exitCode")
        for container in status.get("initContainerStatuses") or ()
    ]
    return not ended or any(code != 0 for code in ended)


def _owner_terms(manifest: Manifest) -> Iterator[str]:
    """Several instances may own one object, and none of them controls it."""
    for owner in manifest["metadata"].get("ownerReferences") or ():
        yield owner["uid"]


def _model_terms(manifest: Manifest) -> Iterator[str]:
    yield _labels(manifest).get(labels.LLM_MODEL, "")


def _no_terms(_manifest: Manifest) -> Iterator[str]:
    yield from ()


def _labels(manifest: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = manifest["metadata"].get("labels") or {}
    return found


PARENTS = (
    Watched(kinds.LLM_MODEL, _no_terms, scope=Scope.EVERYWHERE),
    Watched(kinds.LLM_INSTANCE, _instance_terms, scope=Scope.EVERYWHERE),
    Watched(kinds.API_TOKEN_REQUEST, _request_terms, scope=Scope.EVERYWHERE),
)
"""What people write; orders in namespaces that are not served are left out. Instances are found by UID, by
model name, by the model they want a server for, ``namespace/label`` and ``namespace/``; token requests by
UID, ``namespace/instance`` and ``namespace/``."""

CHILDREN = (
    Watched(kinds.DEPLOYMENT, _child_terms, OURS),
    Watched(kinds.SERVICE, _child_terms, OURS),
    Watched(kinds.INGRESS, _child_terms, OURS),
    Watched(kinds.NETWORK_POLICY, _child_terms, OURS),
    Watched(kinds.POD_DISRUPTION_BUDGET, _child_terms, OURS),
    Watched(kinds.SECRET, _secret_terms, OURS, Scope.ONBOARDED),
)
"""What we write for them, found by the instance's UID; verifiers by the UIDs of request and instance."""

OTHERS = (
    Watched(kinds.POD, _pod_terms, OURS),
    Watched(kinds.PERSISTENT_VOLUME_CLAIM, _owner_terms, OURS),
    Watched(kinds.JOB, _model_terms, OURS, Scope.HOME),
    Watched(kinds.MIDDLEWARE, _no_terms, OURS, Scope.HOME),
    Watched(kinds.NAMESPACE, _no_terms, scope=Scope.CLUSTER),
)
"""Pods tell why a server does not start (found by ``namespace/instance label``, and by the
weights they wait for); claims are shared by the
instances that own them (found by their UIDs); Jobs fetch for the platform (found by the model's label);
middlewares are shared by all; namespaces tell when all in them goes."""

FOLLOWED = tuple(w for w in (*CHILDREN, *OTHERS) if w.scope is Scope.TENANTS)
"""What comes of parents anywhere: most of all events, and mostly echoes of what passes did."""

ALL = (*PARENTS, *CHILDREN, *OTHERS)
