"""Whether a live object already is what we want: the comparison that makes settled passes free.

Two questions. What is *missing*: something that we want is not there, or is something else; applying our
manifest mends that. What was *added*: a container, a variable, a field that somebody put where we decide
alone; applying does not remove it, because it belongs to another field manager. Specs, data and owners are
ours alone; labels and annotations, also those of pods' templates, may carry what others add (ADR 0060).

Both follow the API's own rules. Some lists are maps by the name of their elements (containers, ports,
volumes); all other lists are one value, and so are selectors. Quantities are compared as numbers, because
the API server rewrites ``0.5`` to ``500m``. What it fills in by itself is no addition. Fields that we
stopped wanting are additions too.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from privatellm import labels
from privatellm.errors import InvalidInputError
from privatellm.kube import Manifest
from privatellm_operator.render.quantities import parse_quantity

_KEYS = {
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "name",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Lists that are maps, by the field that tells their elements apart."""

_ATOMIC_MAPS = frozenset({"selector", "podSelector", "namespaceSelector"})
_QUANTITIES = frozenset({"requests", "limits", "sizeLimit"})
_NOT_COMPARED = frozenset({"apiVersion", "kind"})
"""Not every list item and watch event carries them, and they name the object more than describe it."""

_NOT_OURS_ALONE = _NOT_COMPARED | {"metadata", "status"}
"""Where others may add, at the top and in a template: of metadata only the owners are ours alone."""

_NOTHING: tuple[Any, ...] = (None, "", [], {})

_FILLED_IN: Mapping[str, tuple[Any, ...]] = {
    # Deployments and the pods in them.
    "restartPolicy": ("Always",),
    "schedulerName": ("default-scheduler",),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "defaultMode": (0o644,),
    # Probes.
    "timeoutSeconds": (1,),
    "periodSeconds": (10,),
    "successThreshold": (1,),
    "failureThreshold": (3,),
    # Services.
    "sessionAffinity": ("None",),
    "internalTrafficPolicy": ("Cluster",),
}
"""What the API server fills in where we say nothing (Kubernetes 1.33 to 1.37), by field."""

_FILLED_IN_ONLY_IN: Mapping[str, str] = {"restartPolicy": "spec"}
"""What is filled in only in one place: an init container with a restart policy is a sidecar, and nobody's
default."""

_ALLOCATED = frozenset({"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"})
"""What it chooses for a Service; nobody can change it to something that leads elsewhere."""


def matches(live: Manifest, desired: Manifest) -> bool:
    """Say whether everything we want of an object is there, and nothing more where we decide alone."""
    return not lacks(live, desired) and not exceeds(live, desired)


def lacks(live: Manifest, desired: Manifest) -> bool:
    """Say whether something that we want of an object is missing or different."""
    wanted = {key: value for key, value in desired.items() if key not in _NOT_COMPARED}
    return not _contains(live, wanted)


def exceeds(live: Manifest, desired: Manifest) -> bool:
    """Say whether somebody added something where we decide alone."""
    owners = "ownerReferences"
    extra_owners = _adds(live["metadata"].get(owners), desired["metadata"].get(owners), owners)
    return extra_owners or _adds(live, desired)


def smuggled(live: Manifest, desired: Manifest) -> dict[str, tuple[str, ...]]:
    """Return the keys of labels and annotations that would change the route and are not ours.

    Returns:
        Sorted keys by metadata field; a field without such keys is left out.
    """
    found = {field: tuple(_smuggled(live, desired, field)) for field in ("labels", "annotations")}
    return {field: keys for field, keys in found.items() if keys}


def _smuggled(live: Manifest, desired: Manifest, field: str) -> Iterator[str]:
    ours = desired["metadata"].get(field) or {}
    for key in sorted(live["metadata"].get(field) or {}):
        if key.startswith(labels.RESERVED_PREFIXES) and key not in ours:
            yield key


def _contains(live: Any, desired: Any, field: str = "", *, quantity: bool = False) -> bool:
    if isinstance(desired, Mapping) and field not in _ATOMIC_MAPS:
        quantity = quantity or field in _QUANTITIES
        return isinstance(live, Mapping) and all(
            key in live and _contains(live[key], value, key, quantity=quantity)
            for key, value in desired.items()
        )
    if _is_map(desired, field):
        return isinstance(live, list) and all(
            any(_contains(found, item) for found in live) for item in desired
        )
    return bool(live == desired) or (
        (quantity or field in _QUANTITIES) and _same_quantity(live, desired)
    )


def _adds(live: Any, desired: Any, field: str = "") -> bool:
    """Say whether ``live`` has more than ``desired``; what differs is not the question here."""
    if isinstance(desired, Mapping) and isinstance(live, Mapping):
        return field not in _ATOMIC_MAPS and any(
            _adds(value, desired[key], key)
            if key in desired
            else not _is_filled_in(field, key, value)
            for key, value in live.items()
            if key not in _NOT_OURS_ALONE
        )
    if isinstance(live, list) and _is_map(desired, field):
        key = _KEYS[field]
        wanted = {item[key]: item for item in desired}
        return any(item.get(key) not in wanted or _adds(item, wanted[item[key]]) for item in live)
    return False


def _is_map(desired: Any, field: str) -> bool:
    return isinstance(desired, list) and field in _KEYS and all(_KEYS[field] in d for d in desired)


def _is_filled_in(holder: str, field: str, value: Any) -> bool:
    if field in _ALLOCATED or value in _NOTHING:
        return True
    return _FILLED_IN_ONLY_IN.get(field, holder) == holder and value in _FILLED_IN.get(field, ())


def _same_quantity(live: Any, desired: Any) -> bool:
    try:
        return parse_quantity(live) == parse_quantity(desired)
    except InvalidInputError:
        return False
