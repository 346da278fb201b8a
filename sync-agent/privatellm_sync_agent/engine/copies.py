"""The rung that carries related objects, in both directions, and takes them back.

A copy carries a mark of the object it was made for; without that mark nothing is overwritten or removed.
Upstream's copies have none: one is taken over when the customer's object names it in an annotation that is
upstream's (ours name the mark as well, so that what replaced a copy of ours is never mistaken for one). An
original that vanishes, or that is not admitted any more, takes its copy with it. Objects that cannot be
changed (a Secret's type, ``immutable``) are replaced when they are ours.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from privatellm.errors import ForbiddenError, InvalidInputError, NotFoundError, RejectedError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine import content as contents
from privatellm_sync_agent.engine import finalizers, notes, reporting
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.obstacles import Obstacle
from privatellm_sync_agent.engine.onboarding import ensure_namespace
from privatellm_sync_agent.engine.publication import RelatedRule
from privatellm_sync_agent.engine.work import Verdict, Work
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects.merge import Drift
from privatellm_sync_agent.objects.ownership import (
    AGENT,
    CLUSTER,
    COPY,
    COPY_OF,
    NAME,
    NAMESPACE,
    marked_as_copy,
)
from privatellm_sync_agent.objects.selectors import LabelSelector
from privatellm_sync_agent.published.related import Origin
from privatellm_sync_agent.related import names
from privatellm_sync_agent.related.guards import is_owned, kind_of
from privatellm_sync_agent.related.names import Pair, Place, Primaries

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Carrier:
    """Carries the related objects of one rule for one object.

    Attributes:
        work: The pass it belongs to.
        rule: The rule.
    """

    work: Work
    rule: RelatedRule

    @property
    def mark(self) -> str:
        """The mark on copies of this rule."""
        return self.work.owner.copy_mark(self.rule.spec.identifier)

    @property
    def upward(self) -> bool:
        """Whether copies live in the workspace."""
        return self.rule.spec.origin is Origin.SERVICE

    @property
    def source(self) -> KubeClient:
        """Where originals live."""
        return self.work.service if self.upward else self.work.workspace

    @property
    def target(self) -> KubeClient:
        """Where copies live."""
        return self.work.workspace if self.upward else self.work.service

    async def carry(self) -> tuple[Place, ...]:
        """Bring every related object up to date and return the places of the copies there are."""
        pairs = await self._pairs()
        self._note_uses(pairs)
        await self._remove_all(keep={pair.destination for pair in pairs})
        carried = [pair.destination for pair in pairs if await self._carry_one(pair)]
        return tuple(carried)

    async def release(self) -> bool:
        """Take back what the rule says must go with the object; say whether that is gone."""
        is_gone = True
        if self.rule.spec.cleanup or not self.upward:
            is_gone = await self._remove_what_we_may()
        if not self.upward:
            for pair in await self._pairs():
                await self._release_original(pair.origin)
        return is_gone

    async def _remove_what_we_may(self) -> bool:
        try:
            await self._remove_all(keep=set())
        except ForbiddenError as error:
            if not self.upward:
                raise
            # A customer who took the claim back keeps the copies, but must still get rid of the object.
            log.warning("copies left behind", object=str(self.work.identity), error=str(error))
            return False
        return True

    async def _pairs(self) -> tuple[Pair, ...]:
        work, spec = self.work, self.rule.spec
        # Without a copy the other side is unknown, which matters to nobody who only looks for originals.
        local = work.local or work.remote
        primaries = names.Primaries(work.remote, local, work.identity.cluster, work.cluster_path)
        places = await self._namespaces(primaries)
        originals: list[Manifest] = []
        if spec.object.selector:
            wanted = names.selector_of(spec.object.selector, primaries)
            for origin, _destination in places:
                originals += await self._selected(self.rule.origin, wanted, origin)
        return names.pairs(spec, primaries, places, originals)

    async def _namespaces(self, primaries: Primaries) -> list[tuple[str, str]]:
        rule, selected = self.rule.spec.object.namespace, list[Manifest]()
        if rule and rule.selector:
            selected = await self._selected(
                kinds.NAMESPACE, names.selector_of(rule.selector, primaries)
            )
        places = names.namespaces(self.rule.spec, primaries, selected)
        own = primaries.local["metadata"].get("namespace")
        return [
            place
            for place in places
            if (local := place[not self.upward]) == own
            or not await self._is_anothers_namespace(local)
        ]

    async def _is_anothers_namespace(self, name: str) -> bool:
        """Return whether a local namespace was made for another workspace, whatever a rule says of it."""
        found = await self.work.service.get(kinds.NAMESPACE, name) or {"metadata": {}}
        cluster = (found["metadata"].get("labels") or {}).get(CLUSTER)
        return cluster not in (None, self.work.identity.cluster)

    async def _selected(
        self, kind: Kind, selector: LabelSelector, namespace: str | None = None
    ) -> list[Manifest]:
        listing = await self.source.list(kind, namespace, labels=selector.preselection())
        return [item for item in listing.items if selector.matches(item["metadata"].get("labels"))]

    def _note_uses(self, pairs: Iterable[Pair]) -> None:
        cluster = self.work.identity.cluster
        sides = ("", cluster) if self.upward else (cluster, "")
        origin, destination = self.rule.origin, self.rule.destination
        for pair in pairs:
            here, there = pair.origin, pair.destination
            self.work.uses.add((origin, Identity(sides[0], here.namespace, here.name)))
            self.work.uses.add((destination, Identity(sides[1], there.namespace, there.name)))

    async def _carry_one(self, pair: Pair) -> bool:
        original = await self.source.get(self.rule.origin, pair.origin.name, pair.origin.namespace)
        if original is None or not self._admitted(original):
            await self._remove_at(pair.destination)
            return False
        if not self.upward:
            if "deletionTimestamp" in original["metadata"]:
                await self._remove_at(pair.destination)
                await self._release_original(pair.origin)
                return False
            await finalizers.add(
                self.source, self.rule.origin, original, self.work.publication.agent
            )
        return await self._write(original, pair.destination)

    def _admitted(self, original: Manifest) -> bool:
        if not self.upward or self.work.local is None:
            return True
        uid = self.work.local["metadata"]["uid"]
        if self._is_anothers(original, uid):
            return False
        watch = self.rule.spec.watch
        if watch is not None and watch.by_owner is not None and not is_owned(original, uid):
            return False
        return self.rule.guard.admits(original, uid)

    def _is_anothers(self, original: Manifest, uid: str) -> bool:
        """Return whether an original was made for another object: then it is not ours to give.

        It names another copy, of this or another published kind, as its owner, which may be gone while
        nobody has collected its dependents yet, or it is itself what was handed down for another object.
        """
        metadata, local = original["metadata"], self.work.publication.local
        copied = self.work.world.copied() | {(local.group, local.name)}
        mark = (metadata.get("labels") or {}).get(COPY_OF)
        ours = {
            self.work.owner.copy_mark(one.spec.identifier) for one in self.work.publication.related
        }
        return mark not in {None, *ours} or any(
            owner["uid"] != uid and kind_of(owner) in copied
            for owner in metadata.get("ownerReferences") or []
        )

    async def _write(self, original: Manifest, place: Place) -> bool:
        narrowed = self.rule.guard.narrowed(original)
        wanted = contents.mutated_content(narrowed, self.rule.spec.mutation.spec, None)
        copy = await self.target.get(self.rule.destination, place.name, place.namespace)
        if copy is None:
            copy = await self._create(wanted, original, place)
        elif not marked_as_copy(copy, self.mark) and not self._was_upstreams(copy, place):
            self._tell_conflict(place)
            return False
        elif "deletionTimestamp" not in copy["metadata"]:
            copy = await self._update(wanted, original, copy, place)
        await self._carry_status(original, copy)
        return True

    async def _carry_status(self, original: Manifest, copy: Manifest) -> None:
        """Carry the status the way of the object if the rule says so, and else up to an original there."""
        rules = self.rule.spec.mutation.status
        if self.rule.spec.sync_status:
            status = contents.status_of(original, rules, copy)
            await reporting.write_status(
                self.work, self.target, self.rule.destination, copy, status
            )
        elif not self.upward:
            status = contents.status_of(copy, rules, original)
            await reporting.write_status(self.work, self.source, self.rule.origin, original, status)

    async def _create(self, wanted: Manifest, original: Manifest, place: Place) -> Manifest:
        kind = self.rule.destination
        body = contents.new_copy(wanted, self._labels(), self._origin_of(original))
        body |= {"apiVersion": kind.api_version, "kind": kind.name}
        body["metadata"] |= {"name": place.name} | (
            {"namespace": place.namespace} if kind.namespaced else {}
        )
        try:
            return await self.target.create(kind, body)
        except NotFoundError:
            if not self.rule.spec.object.namespace:
                raise
            await ensure_namespace(self.target, place.namespace, self._namespace_labels())
        return await self.target.create(kind, body)

    async def _update(
        self, wanted: Manifest, original: Manifest, copy: Manifest, place: Place
    ) -> Manifest:
        # Credentials must not drift in a workspace; below, operators may add what they need.
        drift = Drift.REPAIR if self.upward else Drift.KEEP
        marks = self._labels(), self._origin_of(original)
        patch = contents.update_of(wanted, copy, *marks, drift)
        if not patch:
            return copy
        uid = copy["metadata"]["uid"]
        guarded = patch | {"metadata": (patch.get("metadata") or {}) | {"uid": uid}}
        kind = self.rule.destination
        try:
            return await self.target.patch(kind, place.name, place.namespace, guarded)
        except RejectedError as error:
            if not marked_as_copy(copy, self.mark):
                raise
            log.info("copy replaced, because it cannot be changed", error=str(error))
            await self.target.delete(kind, place.name, place.namespace, uid=uid)
        return await self._create(wanted, original, place)

    async def _remove_all(self, keep: set[Place]) -> None:
        """Remove the live copies of this rule, wherever they are, except those to keep."""
        if not self._may_have_copies(keep):
            return
        listing = await self.target.list(self.rule.destination, labels=f"{COPY_OF}={self.mark}")
        for copy in listing.items:
            metadata = copy["metadata"]
            if Place(metadata.get("namespace", ""), metadata["name"]) not in keep:
                await self._remove(copy)

    def _may_have_copies(self, keep: set[Place]) -> bool:
        # While the object is alive notes tell; when it ends every copy is looked for.
        if self.work.is_deleting:
            return True
        if self.upward:
            return bool(notes.places(self.work.remote, self.rule.spec.identifier).keys() - keep)
        used = self.work.world.uses.of(self.work.identity)
        kind = self.rule.destination
        return used is None or any(
            kind == of and not one.cluster and Place(one.namespace, one.name) not in keep
            for of, one in used
        )

    async def _remove_at(self, place: Place) -> None:
        copy = await self.target.get(self.rule.destination, place.name, place.namespace)
        if copy is not None and (
            marked_as_copy(copy, self.mark) or self._was_upstreams(copy, place)
        ):
            await self._remove(copy)

    async def _remove(self, copy: Manifest) -> None:
        metadata = copy["metadata"]
        annotations = metadata.get("annotations") or {}
        # The original first: without the copy nobody would know any more that it waits for us.
        if not self.upward and NAME in annotations:
            await self._release_original(Place(annotations.get(NAMESPACE, ""), annotations[NAME]))
        if "deletionTimestamp" not in metadata:
            kind, uid = self.rule.destination, metadata["uid"]
            await self.target.delete(kind, metadata["name"], metadata.get("namespace"), uid=uid)

    async def _release_original(self, place: Place) -> None:
        live = await self.source.get(self.rule.origin, place.name, place.namespace)
        if live is not None:
            await finalizers.release(
                self.source, self.rule.origin, live, self.work.publication.agent
            )

    def _was_upstreams(self, copy: Manifest, place: Place) -> bool:
        labelled = COPY_OF in (copy["metadata"].get("labels") or {})
        noted = notes.places(self.work.remote, self.rule.spec.identifier)
        return self.upward and not labelled and noted.get(place) == ""

    def _labels(self) -> dict[str, str]:
        return {COPY: "true", COPY_OF: self.mark}

    def _origin_of(self, original: Manifest) -> dict[str, str]:
        """Return what tells in the service cluster whose original is to be let go when its copy goes."""
        metadata = original["metadata"]
        known = {NAME: metadata["name"], NAMESPACE: metadata.get("namespace", "")}
        return {} if self.upward else {key: value for key, value in known.items() if value}

    def _namespace_labels(self) -> dict[str, str]:
        if self.upward:
            return {COPY: "true"}
        return {AGENT: self.work.publication.agent, CLUSTER: self.work.identity.cluster}

    def _tell_conflict(self, place: Place) -> None:
        log.warning("related object conflicts", object=str(self.work.identity), name=place.name)
        message = (
            f"{self.rule.destination.name} {place.name} exists and is not ours, so it is left untouched. "
            "Rename or delete it, and the provider's one will appear."
            if self.upward
            else "An object of the provider has the name that a related object needs."
        )
        self.work.meet(Obstacle(Reason.RELATED_CONFLICT, message))


async def carry_related(work: Work) -> Verdict:
    """Carry the related objects of every rule and note on the customer's object where they are."""
    noted: dict[str, str] = {}
    failure: InvalidInputError | None = None
    for rule in work.publication.related:
        try:
            places = await Carrier(work, rule).carry()
        except InvalidInputError as error:
            failure = error  # A rule that does not fit this object does not hold up the others.
            work.uses |= work.world.uses.of(work.identity) or frozenset()
            continue
        noted |= notes.of_rule(rule, places, work.owner.copy_mark(rule.spec.identifier))
    work.world.uses.note(work.identity, work.uses)
    await notes.write(work, noted)
    if failure is not None:
        raise failure
    return None


async def release_all(work: Work) -> bool:
    """Take back the related objects of an object that is being deleted; say whether they are gone."""
    are_gone = True
    for rule in work.publication.related:
        try:
            are_gone = await Carrier(work, rule).release() and are_gone
        except InvalidInputError as error:
            # A rule that never fitted has made nothing, and must not keep the object for ever.
            log.warning("related rule does not fit", object=str(work.identity), error=str(error))
    return are_gone
