"""Paths and mutation rules."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_sync_agent.mutation import paths
from privatellm_sync_agent.mutation.paths import MISSING, PathError
from privatellm_sync_agent.mutation.rules import mutated
from privatellm_sync_agent.published.mutations import Mutation
from privatellm_sync_agent.templates import TemplateError

THING: dict[str, Any] = {
    "spec": {
        "name": "a.b",
        "n": 3,
        "tags": ["x", "y"],
        "ports": [{"p": 1}, {"p": 2}, {}],
        "d.t": 1,
    },
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.name", "a.b"),
        ("spec.tags.1", "y"),
        ("spec.tags.2", MISSING),
        ("spec.tags.#", 2),
        ("spec.ports.#.p", [1, 2]),
        ("spec.ports.0.p", 1),
        (r"spec.d\.t", 1),
        ("spec.name.deeper", MISSING),
        ("absent", MISSING),
    ],
)
def test_a_path_leads_to_a_value(path: str, value: object) -> None:
    """As in gjson: members, indexes, ``#`` and escaped dots."""
    assert value == paths.get(THING, paths.parse(path))


@pytest.mark.parametrize("path", ["", "a.#(b==1)", "a.*", "a|b", "@reverse", "a?"])
def test_a_path_that_is_more_than_a_path_is_refused(path: str) -> None:
    """Queries, wildcards, modifiers and pipes."""
    with pytest.raises(PathError):
        paths.parse(path)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.integers())
def test_what_was_put_is_found_and_what_was_removed_is_not(steps: list[str], value: int) -> None:
    """And the value that was given stays as it was."""
    before = {"a": {"b": 1}, "b": "text"}
    kept = copy.deepcopy(before)
    path = tuple(steps)
    after = paths.put(before, path, value)
    assert paths.get(after, path) == value
    assert paths.get(paths.without(after, path), path) is MISSING
    assert before == kept


@pytest.mark.parametrize(
    ("rule", "path", "value"),
    [
        ({"delete": {"path": "spec.name"}}, "spec.name", MISSING),
        ({"delete": {"path": "spec.tags.0"}}, "spec.tags", ["y"]),
        ({"delete": {"path": "absent.x"}}, "spec.n", 3),
        (
            {"regex": {"path": "spec.name", "pattern": r"\.", "replacement": "-"}},
            "spec.name",
            "a-b",
        ),
        ({"regex": {"path": "spec.name", "replacement": "new"}}, "spec.name", "new"),
        ({"regex": {"path": "spec.n", "pattern": "3", "replacement": "4"}}, "spec.n", "4"),
        ({"regex": {"path": "spec.made.up", "replacement": "x"}}, "spec.made", {"up": "x"}),
        (
            {"template": {"path": "spec.name", "template": "p&q {{ .Value }}"}},
            "spec.name",
            "p&q a.b",
        ),
        ({"template": {"path": "spec.o", "template": "{{ .RemoteObject.x }}"}}, "spec.o", "other"),
        ({"template": {"path": "spec.o", "template": "{{ .LocalObject.spec.n }}"}}, "spec.o", "3"),
        ({"template": {"path": "spec.tags.-1", "template": "z"}}, "spec.tags", ["x", "y", "z"]),
    ],
)
def test_a_rule_changes_what_it_names(rule: dict[str, Any], path: str, value: object) -> None:
    """And the object that was given stays as it was."""
    before = copy.deepcopy(THING)
    result = mutated(THING, [Mutation.model_validate(rule)], {"x": "other"})
    assert value == paths.get(result, paths.parse(path))
    assert before == THING


def test_rules_are_applied_in_their_order() -> None:
    """The second sees what the first did."""
    rules = [
        Mutation.model_validate({"regex": {"path": "spec.name", "replacement": "b"}}),
        Mutation.model_validate({"template": {"path": "spec.name", "template": "{{ .Value }}c"}}),
    ]
    assert mutated(THING, rules, None)["spec"]["name"] == "bc"


def test_a_rule_that_fails_for_an_object_says_so() -> None:
    """The object gets an event; the others are synced."""
    rule = Mutation.model_validate(
        {"template": {"path": "a", "template": "{{ .RemoteObject.x.y }}"}}
    )
    with pytest.raises(TemplateError):
        mutated(THING, [rule], None)
    beyond = Mutation.model_validate({"regex": {"path": "spec.tags.9", "replacement": "x"}})
    with pytest.raises(PathError):
        mutated(THING, [beyond], None)
