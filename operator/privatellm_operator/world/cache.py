"""The last known state of everything that is watched.

Three sources write here: the list at start and the periodic relist, kopf's events, and the answers to our
own writes. They arrive in any order, so the newer ``resourceVersion`` of an object wins; comparing them as
numbers is what the API promises since Kubernetes 1.35 and what etcd always did. Because our own answers are
in here already, their echo is no news and causes no pass: ``ProcessContext.wrote`` wakes the others.

This is also where an operator that serves some namespaces leaves the others alone. Orders are watched in
all of the cluster; what is not kept here is no news, has no key and gets no pass.

Manifests in here are shared and must not be changed.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from privatellm.api.meta import ObjectMeta
from privatellm.kube import Listing, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.world import watched
from privatellm_operator.world.watched import Scope, Watched, in_namespace, seniority

REMEMBERED_DELETIONS = 10_000
"""Deleted objects of a kind that are remembered, so that a late answer does not bring them back."""

Name = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""


class Store:
    """All known objects of one kind."""

    def __init__(self, watching: Watched, served: frozenset[str] = frozenset()) -> None:
        """Begin empty.

        Args:
            watching: The kind, and how it is watched.
            served: The customers' namespaces that matter; empty for all.
        """
        self.watching = watching
        is_limited = watching.kind.namespaced and watching.scope is Scope.EVERYWHERE
        self._served = served if is_limited else frozenset()
        self._objects: dict[Name, Manifest] = {}
        self._by_term: dict[str, dict[Name, None]] = {}
        self._deleted: OrderedDict[Name, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._objects)

    def all(self) -> tuple[Manifest, ...]:
        """Return every object."""
        return tuple(self._objects.values())

    def get(self, namespace: str, name: str) -> Manifest | None:
        """Return the object of that name, if it is known."""
        return self._objects.get((namespace, name))

    def find(self, term: str) -> tuple[Manifest, ...]:
        """Return the objects that are found by ``term``, in a stable order."""
        return tuple(self._objects[name] for name in sorted(self._by_term.get(term, ())))

    def has(self, term: str) -> bool:
        """Say whether an object is found by ``term``; it costs the same however many are."""
        return term in self._by_term

    def each(self, term: str) -> Iterator[Manifest]:
        """Yield the objects that are found by ``term``, unsorted: for who stops at the first that fits."""
        return (self._objects[name] for name in self._by_term.get(term, ()))

    def older_siblings(self, of: ObjectMeta) -> int:
        """Count the objects of a namespace that were there before one that is known, too."""
        siblings = self.find(in_namespace(of.namespace, ""))
        own = next(s for s in siblings if s["metadata"]["uid"] == of.uid)
        return sum(seniority(sibling) < seniority(own) for sibling in siblings)

    def keeps(self, namespace: str) -> bool:
        """Say whether objects of a namespace matter; of any other one nothing is noted."""
        return not self._served or namespace in self._served

    def put(self, manifest: Manifest) -> bool:
        """Take note of an object, and say whether it was news."""
        name, version = _name(manifest), _version(manifest)
        if not self.keeps(name[0]):
            return False
        known = self._objects.get(name)
        if version < self._deleted.get(name, 0) or (known and version <= _version(known)):
            return False
        self._remove(name)
        stored = watched.projected(manifest)
        self._objects[name] = stored
        for term in self.watching.terms(stored):
            self._by_term.setdefault(term, {})[name] = None
        return True

    def drop(self, manifest: Manifest) -> bool:
        """Take note that an object is gone, and say whether that was news.

        It may also have lost the label that we select by. Then it lives on in exactly this version, which a
        look at the API server may bring back.

        Args:
            manifest: The object's last state; its version is that of the deletion.
        """
        name = _name(manifest)
        return self.keeps(name[0]) and self._bury(name, _version(manifest))

    def correct(self, namespace: str, name: str, live: Manifest | None) -> None:
        """Take the API server's word for one object, whatever was known before.

        Args:
            namespace: Namespace of the object that was asked for.
            name: Its name.
            live: The answer; ``None`` when there is no such object.
        """
        self._deleted.pop((namespace, name), None)
        self._remove((namespace, name))
        if live is not None:
            self.put(live)

    def replace(self, listing: Listing, namespace: str | None = None) -> tuple[Manifest, ...]:
        """Make the store agree with a full list, and return the objects that changed or vanished.

        An object that changed is returned as it was and as it is, for what depended on it then and now.

        Args:
            listing: Every object that exists in ``namespace``.
            namespace: Where the list was made; ``None`` for everywhere.
        """
        known = {_name(item): self._objects.get(_name(item)) for item in listing.items}
        changed = [item for item in listing.items if self.put(item)]
        before = [found for item in changed if (found := known[_name(item)]) is not None]
        listed = {_name(item) for item in listing.items}
        moment = int(listing.resource_version)
        vanished = [
            gone
            for name, gone in tuple(self._objects.items())
            if name not in listed and namespace in (None, name[0]) and self._bury(name, moment)
        ]
        return (*before, *changed, *vanished)

    def _bury(self, name: Name, version: int) -> bool:
        known = self._objects.get(name)
        if known is not None and _version(known) > version:
            return False
        self._deleted[name] = max(version, self._deleted.pop(name, 0))
        if len(self._deleted) > REMEMBERED_DELETIONS:
            self._deleted.popitem(last=False)
        self._remove(name)
        return known is not None

    def _remove(self, name: Name) -> None:
        known = self._objects.pop(name, None)
        if known is None:
            return
        for term in self.watching.terms(known):
            names = self._by_term.get(term, {})
            names.pop(name, None)
            if not names:
                self._by_term.pop(term, None)


class World:
    """One store a kind."""

    def __init__(
        self, watching: Iterable[Watched] = watched.ALL, *, served: Iterable[str] = ()
    ) -> None:
        """Begin empty.

        Args:
            watching: The kinds.
            served: The customers' namespaces that matter; none for all.
        """
        self._served = frozenset(served)
        self._stores: dict[Kind, Store] = {w.kind: Store(w, self._served) for w in watching}
        self._undefined: set[Kind] = set()

    def __getitem__(self, kind: Kind) -> Store:
        return self._stores[kind]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are watched."""
        return tuple(self._stores)

    def is_defined(self, kind: Kind) -> bool:
        """Say whether the cluster knew the kind when it was last asked."""
        return kind not in self._undefined

    def note_definition(self, kind: Kind, *, defined: bool) -> None:
        """Take note of whether the cluster knows a kind; of an unknown kind no object exists."""
        if defined:
            self._undefined.discard(kind)
        else:
            self._undefined.add(kind)
            self._stores[kind] = Store(self._stores[kind].watching, self._served)

    def namespace_leaves(self, namespace: str) -> bool:
        """Say whether a namespace is being deleted with everything in it, as far as is known."""
        found = self._stores[kinds.NAMESPACE].get("", namespace)
        return found is not None and bool(found["metadata"].get("deletionTimestamp"))

    def observe(self, kind: Kind, event_type: str | None, manifest: Manifest) -> bool:
        """Take note of a watch event, and say whether it was news."""
        store = self._stores[kind]
        return store.drop(manifest) if event_type == "DELETED" else store.put(manifest)


def _name(manifest: Manifest) -> Name:
    metadata = manifest["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _version(manifest: Manifest) -> int:
    return int(manifest["metadata"].get("resourceVersion") or 0)
