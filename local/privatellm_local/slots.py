"""Who owns which slot: a small register in the user's cache directory.

The register makes two environments of one user choose different slots even while neither runs. It is
advice, not truth: an entry counts only while the state directory it names still remembers that slot,
so deleting a state directory by hand frees its slot. Strangers' listeners are found by looking.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from privatellm_local import files, listeners
from privatellm_local.addresses import AddressPlan, candidate_slots, plan_for, preferred_slot
from privatellm_local.errors import AddressError
from privatellm_local.paths import CachePaths, StatePaths


def claim(
    cache: CachePaths,
    paths: StatePaths,
    remember: Callable[[int], None],
    *,
    with_edge: bool,
) -> None:
    """Choose a slot for a new environment.

    Args:
        cache: The user's cache directory.
        paths: The new environment.
        remember: Stores the choice in the environment's state; called while the register is locked.
        with_edge: The edge's port is the slot's own.

    Raises:
        AddressError: when every slot is taken.
    """
    with files.exclusive_lock(cache.slots_lock):
        owners = _living(_read(cache))
        others = {slot: owner for slot, owner in owners.items() if owner != paths.root}
        slot = choose(
            preferred_slot(paths.root),
            others,
            lambda plan: listeners.is_slot_free(plan, with_edge=with_edge),
        )
        remember(slot)
        _write(cache, {**others, slot: paths.root})


def release(cache: CachePaths, paths: StatePaths) -> None:
    """Forget the slot of a purged environment."""
    if not cache.slots_file.exists():
        return
    with files.exclusive_lock(cache.slots_lock):
        owners = _read(cache)
        _write(cache, {slot: owner for slot, owner in owners.items() if owner != paths.root})


def other_owner(cache: CachePaths, paths: StatePaths, slot: int) -> StatePaths | None:
    """Return the environment that a slot belongs to when that is another one.

    A state directory that was copied remembers the slot of its original.
    """
    owner = _living(_read(cache)).get(slot)
    return None if owner in (None, paths.root) else StatePaths(owner)


def choose(
    preferred: int, owners: Mapping[int, Path], is_free: Callable[[AddressPlan], bool]
) -> int:
    """Return the first slot, from the preferred one on, that nobody owns and nobody listens on.

    Raises:
        AddressError: when there is none.
    """
    for slot in candidate_slots(preferred):
        if slot not in owners and is_free(plan_for(slot)):
            return slot
    raise AddressError(
        "No free block of loopback addresses is left: remove environments you no longer need with "
        "`privatellm down --purge --state DIR`."
    )


def _living(owners: Mapping[int, Path]) -> dict[int, Path]:
    return {slot: owner for slot, owner in owners.items() if _remembered_slot(owner) == slot}


def _remembered_slot(owner: Path) -> int | None:
    # Read leniently: another release may have written it, and its claim counts all the same.
    try:
        raw = json.loads(StatePaths(owner).state_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    slot = raw.get("slot") if isinstance(raw, dict) else None
    return slot if isinstance(slot, int) else None


def _read(cache: CachePaths) -> dict[int, Path]:
    try:
        raw = json.loads(files.read_text(cache.slots_file) or "{}")
        return {int(slot): Path(owner) for slot, owner in raw.items()}
    except (ValueError, AttributeError, TypeError):
        # A damaged register costs nothing but a second look at the ports.
        return {}


def _write(cache: CachePaths, owners: Mapping[int, Path]) -> None:
    ordered = {str(slot): str(owners[slot]) for slot in sorted(owners)}
    files.write_atomically(cache.slots_file, json.dumps(ordered, indent=2) + "\n")
