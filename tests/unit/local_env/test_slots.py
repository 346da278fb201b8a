import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from privatellm_local import slots, state
from privatellm_local.addresses import SLOTS, plan_for, preferred_slot
from privatellm_local.errors import AddressError
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.state import EnvironmentState


def _environment(directory: Path) -> StatePaths:
    paths = StatePaths(directory)
    paths.create()
    return paths


def _claim(cache: CachePaths, paths: StatePaths) -> int:
    chosen: list[int] = []

    def remember(slot: int) -> None:
        chosen.append(slot)
        edge_port = plan_for(slot).edge
        state.save(
            paths, EnvironmentState(slot=slot, edge_port=edge_port, created_at=datetime.now(UTC))
        )

    slots.claim(cache, paths, remember, with_edge=True)
    return chosen[0]


def test_an_owned_slot_is_passed_over() -> None:
    """The next one after the preferred slot is taken."""
    assert slots.choose(5, {5: Path("/other")}, lambda _: True) == 6


def test_a_slot_with_a_strangers_listener_is_passed_over() -> None:
    """Whoever listens there need not be one of ours."""
    assert slots.choose(SLOTS - 1, {}, lambda plan: plan.slot == 2) == 2


def test_no_free_slot_is_an_error_that_says_what_to_do() -> None:
    """The message names the command that frees slots."""
    with pytest.raises(AddressError, match="privatellm down --purge"):
        slots.choose(0, {}, lambda _: False)


def test_two_environments_never_get_one_slot(
    cache: CachePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The register keeps them apart even while neither runs."""
    monkeypatch.setattr(slots, "preferred_slot", lambda _: 7)
    one, other = _environment(tmp_path / "one"), _environment(tmp_path / "other")

    assert _claim(cache, one) != _claim(cache, other)


def test_a_deleted_state_directory_frees_its_slot(
    cache: CachePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry counts only while its state directory remembers the slot."""
    monkeypatch.setattr(slots, "preferred_slot", lambda _: 7)
    one, other = _environment(tmp_path / "one"), _environment(tmp_path / "other")
    first = _claim(cache, one)
    one.state_file.unlink()

    assert _claim(cache, other) == first


def test_a_copy_has_the_slot_of_its_original(cache: CachePaths, tmp_path: Path) -> None:
    """As long as the original is there, the slot is not the copy's."""
    original = _environment(tmp_path / "original")
    slot = _claim(cache, original)
    copy = StatePaths(shutil.copytree(original.root, tmp_path / "copy"))

    assert slots.other_owner(cache, copy, slot) == original
    assert slots.other_owner(cache, original, slot) is None

    shutil.rmtree(original.root)
    assert slots.other_owner(cache, copy, slot) is None


def test_a_damaged_register_costs_nothing(cache: CachePaths, paths: StatePaths) -> None:
    """It is advice; a new one is written."""
    cache.slots_file.write_text("[not a register")

    slot = _claim(cache, paths)

    assert slot in range(SLOTS)
    assert str(paths.root) in cache.slots_file.read_text()


def test_a_released_slot_is_forgotten(cache: CachePaths, paths: StatePaths) -> None:
    """Purging an environment leaves no entry."""
    _claim(cache, paths)

    slots.release(cache, paths)

    assert str(paths.root) not in cache.slots_file.read_text()


def test_releasing_needs_no_register(tmp_path: Path, paths: StatePaths) -> None:
    """A cache that was removed by hand does not keep an environment from being purged."""
    slots.release(CachePaths(tmp_path / "absent"), paths)


def test_the_first_choice_follows_from_the_path(cache: CachePaths, paths: StatePaths) -> None:
    """An environment that is purged and made again usually keeps its addresses."""
    slot = _claim(cache, paths)

    assert slot in {preferred_slot(paths.root), (preferred_slot(paths.root) + 1) % SLOTS}
