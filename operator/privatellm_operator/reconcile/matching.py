"""Whether a live object already is what we want: the comparison that makes settled passes free.

The API server adds defaults and others add fields of their own, so the question is whether what we want is
*contained* in what is there. It follows the API's own merge rules. Some lists are maps by the name of their
elements (containers, ports, volumes): every wanted element must be there, and others may be. All other
lists are one value, and so are selectors: there an addition changes the meaning. Quantities are compared
as numbers, because the API server rewrites ``0.5`` to ``500m``. Fields that we stopped wanting are caught
by the digest that every child carries.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from privatellm import labels
from privatellm.errors import InvalidInputError
from privatellm.kube import Manifest
from privatellm_operator.render.quantities import parse_quantity

_MAPS_BY_NAME = frozenset(
    {
        "containers",
        "env",
        "imagePullSecrets",
        "initContainers",
        "ownerReferences",
        "ports",
        "volumeMounts",
        "volumes",
    }
)
_ATOMIC_MAPS = frozenset({"selector", "podSelector", "namespaceSelector"})
_QUANTITIES = frozenset({"requests", "limits", "sizeLimit"})
_NOT_COMPARED = frozenset({"apiVersion", "kind"})
"""Not every list item and watch event carries them, and they name the object more than describe it."""


def matches(live: Manifest, desired: Manifest) -> bool:
    """Say whether everything we want of an object is there."""
    wanted = {key: value for key, value in desired.items() if key not in _NOT_COMPARED}
    return _contains(live, wanted)


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
    if isinstance(desired, list) and field in _MAPS_BY_NAME and all("name" in d for d in desired):
        return isinstance(live, list) and all(
            any(_contains(found, item) for found in live) for item in desired
        )
    return bool(live == desired) or (
        (quantity or field in _QUANTITIES) and _same_quantity(live, desired)
    )


def _same_quantity(live: Any, desired: Any) -> bool:
    try:
        return parse_quantity(live) == parse_quantity(desired)
    except InvalidInputError:
        return False
