"""From what is there to what has to be done: pure, and empty-handed in a settled world."""

from collections.abc import Iterable, Iterator

from privatellm.kube import Manifest, kinds
from privatellm_operator.reconcile.instance.checks import first_fault, predecessor_leaves
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.plan import Delete, Plan, Restore, Step, Strip, Write
from privatellm_operator.reconcile.instance.reasons import Reason
from privatellm_operator.reconcile.matching import smuggled
from privatellm_operator.reconcile.restoring import Repair, repair_of
from privatellm_operator.render.children import build_all
from privatellm_operator.render.instance import InstanceFacts
from privatellm_operator.render.middlewares import chain_name
from privatellm_operator.settings import Settings

SILENT_FAULT_SECONDS = 10.0
"""When to look again at a fault whose end no event tells us about."""

_SILENT_FAULTS = frozenset({Reason.CHILD_CONFLICT, Reason.QUOTA_EXCEEDED})


def decide(world: InstanceWorld, settings: Settings, backend_key: str) -> Plan:
    """Return what a pass has to do to the children.

    Args:
        world: What was gathered.
        settings: What the platform team decided.
        backend_key: The key that the edge shows the instance's servers.
    """
    fault = first_fault(world, settings.caps)
    if fault is not None or world.model is None:
        # What runs goes on as it was: a wrong order must not break a right one that came before.
        silent = fault is not None and fault.reason in _SILENT_FAULTS
        return Plan(fault, look_again_after=SILENT_FAULT_SECONDS if silent else None)
    if delay := predecessor_leaves(world):
        # All of it waits: half an instance beside the rest of another one is neither.
        return Plan(delay=delay, look_again_after=SILENT_FAULT_SECONDS)
    desired = build_all(InstanceFacts(world.instance, world.model, settings, backend_key))
    return Plan(steps=(*_changes(world, desired), *_deletions(world, desired)))


def _changes(world: InstanceWorld, desired: Iterable[Manifest]) -> Iterator[Step]:
    for manifest in desired:
        kind, name = kinds.kind_of(manifest), manifest["metadata"]["name"]
        live = world.children.get((kind, name))
        uid = live["metadata"]["uid"] if live else None
        if live and uid and (keys := smuggled(live, manifest)):
            yield Strip(kind, name, uid, keys)
        # A route whose middlewares do not exist yet would answer 404 until they do.
        if kind is kinds.INGRESS and not _has_middlewares(world):
            continue
        # Pods of a claim that is missing, or goes, would be refused until it is there.
        if kind is kinds.DEPLOYMENT and world.claim is not None and not world.claim.is_usable:
            continue
        if live is None:
            yield Write(kind, name, uid, manifest)
            continue
        match repair_of(live, manifest, world.answers.get((kind, name))):
            case Repair.APPLY:
                yield Write(kind, name, uid, manifest)
            case Repair.RESTORE:
                yield Restore(kind, name, live, manifest)
            case None:
                pass


def _has_middlewares(world: InstanceWorld) -> bool:
    return world.model is not None and chain_name(world.model) in world.edge.middlewares


def _deletions(world: InstanceWorld, desired: Iterable[Manifest]) -> Iterator[Step]:
    wanted = {(kinds.kind_of(m), m["metadata"]["name"]) for m in desired}
    for (kind, name), live in world.children.items():
        if (kind, name) not in wanted and not live["metadata"].get("deletionTimestamp"):
            yield Delete(kind, name, live["metadata"]["uid"])
