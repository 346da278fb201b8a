"""What an informer knows: the newest version of each object, by identity and by one further key.

Own writes may refresh what is stored but never add to it: an answer that arrives after the deletion event
of the same object would bring a ghost to life.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator

from privatellm.kube import Manifest
from privatellm_sync_agent.naming.names import Identity

Index = Callable[[Manifest], Iterable[Hashable]]
Trim = Callable[[Manifest], Manifest]


def without_managed_fields(manifest: Manifest) -> Manifest:
    """Return an object without its managed fields, which are often the larger half of it."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return manifest | {"metadata": metadata}


def metadata_only(manifest: Manifest) -> Manifest:
    """Return an object's type and metadata: no data of a Secret is kept in memory."""
    kept = without_managed_fields(manifest)
    return {key: kept[key] for key in ("apiVersion", "kind", "metadata") if key in kept}


def _not_indexed(_manifest: Manifest) -> Iterable[Hashable]:
    return ()


class Store:
    """Objects of one kind from one API server."""

    def __init__(self, index: Index = _not_indexed, trim: Trim = without_managed_fields) -> None:
        self._objects: dict[Identity, Manifest] = {}
        self._index: dict[Hashable, set[Identity]] = {}
        self._keys_of = index
        self._trim = trim

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Manifest]:
        return iter(tuple(self._objects.values()))

    def get(self, identity: Identity) -> Manifest | None:
        """Return the newest version known."""
        return self._objects.get(identity)

    def indexed(self, key: Hashable) -> tuple[Manifest, ...]:
        """Return the objects that the index function gave this key, in a stable order."""
        found = sorted(self._index.get(key, ()), key=str)
        return tuple(self._objects[identity] for identity in found)

    def put(self, manifest: Manifest) -> Manifest | None:
        """Store what a list or a watch delivered, and return what was there before."""
        identity = Identity.of(manifest)
        before = self._objects.get(identity)
        if before is not None:
            self._forget(identity, before)
        kept = self._objects[identity] = self._trim(manifest)
        for key in self._keys_of(kept):
            self._index.setdefault(key, set()).add(identity)
        return before

    def refresh(self, manifest: Manifest) -> None:
        """Store the answer to our own write if it is newer than what is stored of the same object."""
        before = self._objects.get(Identity.of(manifest))
        if before is not None and _is_newer(manifest, before):
            self.put(manifest)

    def drop(self, manifest: Manifest) -> Manifest | None:
        """Forget an object and return what was known of it."""
        identity = Identity.of(manifest)
        before = self._objects.get(identity)
        if before is not None:
            self._forget(identity, before)
        return before

    def vanished(self, listed: Iterable[Manifest]) -> tuple[Manifest, ...]:
        """Return what is stored but is not among the objects of a new list."""
        present = {Identity.of(manifest) for manifest in listed}
        return tuple(kept for identity, kept in self._objects.items() if identity not in present)

    def _forget(self, identity: Identity, manifest: Manifest) -> None:
        del self._objects[identity]
        for key in self._keys_of(manifest):
            identities = self._index[key]
            identities.discard(identity)
            if not identities:
                del self._index[key]


def _is_newer(manifest: Manifest, than: Manifest) -> bool:
    new, old = manifest["metadata"], than["metadata"]
    if new.get("uid") != old.get("uid"):
        return False
    try:
        return int(new["resourceVersion"]) > int(old["resourceVersion"])
    except (KeyError, ValueError):
        return False  # Versions that are no numbers cannot be ordered; the watch will tell.
