"""Merging: the source's changes reach the copy, the copy's own changes stay."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from privatellm_sync_agent.objects.merge import Drift, applied, exact, three_way, without_nulls
from privatellm_sync_agent.objects.state import LARGEST, Memory

SALT = "salt"
leaf = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=3)
    | st.lists(st.integers(0, 3), max_size=2)
)
keys = st.sampled_from("abcd")
values = st.recursive(leaf, lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=8)
contents = st.dictionaries(keys, values, max_size=4)


def remember(content: dict[str, Any]) -> Memory:
    return Memory.of(without_nulls(content), SALT)


def covers(copy: Any, source: Any) -> bool:
    """Whether a copy has every leaf of a source."""
    if isinstance(source, dict) and source:
        return isinstance(copy, dict) and all(covers(copy.get(k), v) for k, v in source.items())
    return bool(source in ({}, copy))


@given(contents, contents)
def test_an_exact_patch_makes_the_copy_equal(source: dict[str, Any], copy: dict[str, Any]) -> None:
    """``apply(diff(a, b), a) == b``."""
    source = without_nulls(source)
    assert source == applied(exact(source, copy), copy)


@given(contents, contents)
def test_a_copy_that_nobody_else_touched_follows_its_source(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Additions, changes and removals arrive."""
    before, after = without_nulls(before), without_nulls(after)
    patch = three_way(remember(before), after, before)
    result = applied(patch, before)
    assert covers(result, after)
    assert three_way(remember(after), after, result) == {}


@given(contents, contents)
def test_without_a_change_of_the_source_nothing_is_written(
    source: dict[str, Any], copy: dict[str, Any]
) -> None:
    """Whatever happened to the copy: a settled world stays settled."""
    patch = three_way(remember(source), source, copy)
    assert all(isinstance(copy.get(key), dict) for key in patch)
    assert three_way(remember(source), source, without_nulls(source)) == {}


@given(contents, contents, contents)
def test_repair_puts_every_field_of_the_source_right(
    before: dict[str, Any], source: dict[str, Any], copy: dict[str, Any]
) -> None:
    """Copies of credentials follow their original, whatever was done to them."""
    result = applied(three_way(remember(before), source, copy, Drift.REPAIR), copy)
    assert covers(result, without_nulls(source))
    assert three_way(remember(source), source, result, Drift.REPAIR) == {}


@given(contents, contents)
def test_without_memory_the_source_wins_and_nothing_is_removed(
    source: dict[str, Any], copy: dict[str, Any]
) -> None:
    """State that was lost costs no data."""
    result = applied(three_way(None, source, copy), copy)
    assert covers(result, without_nulls(source))
    assert set(copy) <= set(result)


def test_a_local_change_is_kept_while_another_field_is_updated() -> None:
    """Operators and webhooks write into copies too."""
    before = {"spec": {"a": 1, "b": 1}}
    copy = {"spec": {"a": 9, "b": 1, "defaulted": True}}
    patch = three_way(remember(before), {"spec": {"a": 1, "b": 2}}, copy)
    assert patch == {"spec": {"b": 2}}


def test_a_field_that_the_source_dropped_is_removed_and_a_local_one_is_not() -> None:
    """Removal follows what was copied, not what is there."""
    patch = three_way(remember({"spec": {"a": 1}}), {"spec": {}}, {"spec": {"a": 1, "mine": 2}})
    assert patch == {"spec": {"a": None}}


def test_the_memory_holds_no_value() -> None:
    """6b.G: neither in clear nor as a digest that is the same for two objects."""
    secret = {"data": {"OPENAI_API_KEY": "cGxsbS1zZWNyZXQ="}}
    text = Memory.of(secret, "one").text()
    assert "cGxsbS1zZWNyZXQ=" not in text
    assert json.loads(text)["tree"] != Memory.of(secret, "two").tree


def test_a_large_content_is_remembered_within_the_limit() -> None:
    """The annotation never outgrows what the API server accepts."""
    large = {"spec": {f"k{i}": {f"m{j}": j for j in range(20)} for i in range(300)}}
    memory = Memory.of(large, SALT)
    assert len(memory.text()) <= LARGEST
    changed = {"spec": large["spec"] | {"k1": {"m0": 7}}}
    result = applied(three_way(memory, changed, large), large)
    assert result == changed
    assert three_way(Memory.of(large, SALT), large, large) == {}


@given(contents)
def test_a_memory_is_read_as_it_was_written(content: dict[str, Any]) -> None:
    """``parse(text(m)) == m``."""
    memory = remember(content)
    assert memory == Memory.parse(memory.text())


def test_a_memory_that_is_not_ours_counts_as_lost() -> None:
    """A customer or an administrator may write anything there."""
    for text in (
        None,
        "",
        "x",
        "[]",
        '{"v":' * 4000,
        '{"v":2,"salt":"","tree":{}}',
        '{"v":1}',
        '{"v":1,"tree":3,"salt":""}',
    ):
        assert Memory.parse(text) is None
