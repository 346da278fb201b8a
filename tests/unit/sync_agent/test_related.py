"""Related objects: which they are on both sides, and which of them may be copied."""

import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm.errors import InvalidObjectError
from privatellm_sync_agent.naming.names import IllegalNameError
from privatellm_sync_agent.published import defaults
from privatellm_sync_agent.published.related import RelatedResource
from privatellm_sync_agent.related.guards import Guard, guards_of, kind_of
from privatellm_sync_agent.related.names import (
    Pair,
    Place,
    Primaries,
    ResolutionError,
    namespaces,
    selector_of,
)
from privatellm_sync_agent.related.names import pairs as pairs_in

REMOTE: dict[str, Any] = {
    "metadata": {"name": "key", "namespace": "team-a"},
    "spec": {"names": ["a", "b"]},
    "status": {"secretName": "key-token"},
}
LOCAL: dict[str, Any] = {
    "metadata": {"name": "local-key", "namespace": "c1-hash", "uid": "u"},
    "spec": {"names": ["la", "lb"]},
    "status": {"secretName": "local-token"},
}
PRIMARIES = Primaries(REMOTE, LOCAL, "c1", "root:acme")


def related(rule: dict[str, Any], origin: str = "service") -> RelatedResource:
    return RelatedResource.model_validate(
        {"identifier": "x", "origin": origin, "kind": "Secret", "object": rule}
    )


def pairs(
    rule: RelatedResource,
    primaries: Primaries,
    originals: Iterable[dict[str, Any]] = (),
    selected: Iterable[dict[str, Any]] = (),
) -> tuple[Pair, ...]:
    """Return the related objects in all the namespaces that the rule yields."""
    return pairs_in(rule, primaries, namespaces(rule, primaries, selected), originals)


def test_each_side_names_its_own_object() -> None:
    """A reference is followed on both primaries."""
    rule = related({"reference": {"path": "status.secretName"}})
    expected = Pair(Place("c1-hash", "local-token"), Place("team-a", "key-token"))
    assert pairs(rule, PRIMARIES) == (expected,)


def test_an_original_in_the_workspace_goes_the_other_way() -> None:
    """Origin and destination change places."""
    rule = related({"reference": {"path": "status.secretName"}}, origin="kcp")
    expected = Pair(Place("team-a", "key-token"), Place("c1-hash", "local-token"))
    assert pairs(rule, PRIMARIES) == (expected,)


def test_a_list_names_several_objects_in_a_stable_order() -> None:
    """The two lists are read side by side."""
    rule = related({"reference": {"path": "spec.names"}})
    assert [(p.origin.name, p.destination.name) for p in pairs(rule, PRIMARIES)] == [
        ("la", "a"),
        ("lb", "b"),
    ]


@pytest.mark.parametrize(
    "rule",
    [
        {"reference": {"path": "status.absent"}},
        {"template": {"template": "{{ if eq .Side `kcp` }}x{{ end }}"}},
        {"template": {"template": "x"}, "namespace": {"reference": {"path": "status.absent"}}},
    ],
)
def test_what_is_not_known_yet_is_no_error(rule: dict[str, Any]) -> None:
    """The name often appears in the status later."""
    assert pairs(related(rule), PRIMARIES) == ()


def test_two_sides_of_different_length_are_an_error() -> None:
    """Guessing which belongs to which could mix up tenants' objects."""
    longer = REMOTE | {"spec": {"names": ["a", "b", "c"]}}
    with pytest.raises(ResolutionError):
        pairs(related({"reference": {"path": "spec.names"}}), Primaries(longer, LOCAL, "c1"))


def test_a_template_is_rendered_for_each_side() -> None:
    """It sees the side, the object of that side and the workspace."""
    rule = related(
        {
            "template": {"template": "{{ .Object.metadata.name }}-{{ .Side }}"},
            "namespace": {"template": {"template": "{{ .ClusterName }}-{{ .Side }}"}},
        }
    )
    expected = Pair(Place("c1-service", "local-key-service"), Place("c1-kcp", "key-kcp"))
    assert pairs(rule, PRIMARIES) == (expected,)


def test_without_a_namespace_a_rule_for_it_is_needed() -> None:
    """A cluster-scoped primary cannot lend its own."""
    scoped = Primaries({"metadata": {"name": "x"}}, LOCAL, "c1")
    with pytest.raises(ResolutionError):
        pairs(related({"template": {"template": "x"}}), scoped)


@pytest.mark.parametrize("name", ["../x", "UPPER", "a/b", "x" * 254])
def test_a_hostile_name_is_refused(name: str) -> None:
    """It never becomes a part of a URL."""
    hostile = copy.deepcopy(REMOTE)
    hostile["status"]["secretName"] = name
    with pytest.raises(IllegalNameError):
        pairs(
            related({"reference": {"path": "status.secretName"}}), Primaries(hostile, LOCAL, "c1")
        )


def test_a_selected_original_is_renamed_for_its_destination() -> None:
    """By a regular expression or by a template that sees the original."""
    originals = [{"metadata": {"name": "db-creds", "namespace": "c1-hash"}}]
    regex = related({"selector": {"rewrite": {"regex": {"pattern": "^db-", "replacement": "my-"}}}})
    fixed = related({"selector": {"rewrite": {"regex": {"replacement": "fixed"}}}})
    by_template = related(
        {
            "selector": {
                "rewrite": {
                    "template": {"template": "{{ .Value }}-{{ .RemoteObject.metadata.name }}"}
                }
            }
        }
    )
    assert pairs(regex, PRIMARIES, originals)[0].destination.name == "my-creds"
    assert pairs(fixed, PRIMARIES, originals)[0].destination.name == "fixed"
    assert pairs(by_template, PRIMARIES, originals)[0].destination.name == "db-creds-key"


def test_selected_namespaces_are_renamed_and_looked_through_one_by_one() -> None:
    """An original stays in its own namespace's counterpart."""
    rule = related(
        {
            "selector": {"rewrite": {"template": {"template": "{{ .Value }}"}}},
            "namespace": {
                "selector": {
                    "matchLabels": {"for": "{{ .ClusterName }}"},
                    "rewrite": {"regex": {"pattern": "^", "replacement": "my-"}},
                }
            },
        }
    )
    selected = [{"metadata": {"name": name}} for name in ("b", "a")]
    originals = [
        {"metadata": {"name": "one", "namespace": "a"}},
        {"metadata": {"name": "one", "namespace": "b"}},
        {"metadata": {"name": "one", "namespace": "elsewhere"}},
    ]
    assert pairs(rule, PRIMARIES, originals, selected) == (
        Pair(Place("a", "one"), Place("my-a", "one")),
        Pair(Place("b", "one"), Place("my-b", "one")),
    )


def test_a_list_can_name_several_namespaces() -> None:
    """Each with its counterpart on the other side."""
    rule = related(
        {"template": {"template": "x"}, "namespace": {"reference": {"path": "spec.names"}}}
    )
    assert [(p.origin.namespace, p.destination.namespace) for p in pairs(rule, PRIMARIES)] == [
        ("la", "a"),
        ("lb", "b"),
    ]


def test_an_empty_item_of_a_list_keeps_its_place() -> None:
    """Or the objects behind it would be exchanged."""
    remote = REMOTE | {"spec": {"names": ["a", "", "c"]}}
    local = LOCAL | {"spec": {"names": ["la", "lb", "lc"]}}
    rule = related({"reference": {"path": "spec.names"}})
    found = pairs(rule, Primaries(remote, local, "c1"))
    assert [(p.origin.name, p.destination.name) for p in found] == [("la", "a"), ("lc", "c")]


def test_two_originals_cannot_share_one_copy() -> None:
    """They would replace each other for ever."""
    rule = related({"selector": {"rewrite": {"regex": {"replacement": "fixed"}}}})
    originals = [{"metadata": {"name": name, "namespace": "c1-hash"}} for name in "ab"]
    with pytest.raises(ResolutionError, match="place of its own"):
        pairs(rule, PRIMARIES, originals)


SELECTOR = related(
    {
        "selector": {
            "matchLabels": {
                "owner": "{{ .RemoteObject.metadata.name }}.{{ .ClusterName }}",
                "{{ if false }}never{{ end }}": "x",
            },
            "rewrite": {"regex": {"replacement": "x"}},
        }
    }
).object.selector


@given(st.from_regex(r"\A[a-z]{1,8}\Z"), st.from_regex(r"\A[a-z]{1,8}\Z"))
def test_no_tenants_rendered_selector_serves_another(first: str, second: str) -> None:
    """Upstream wrote the first tenant's labels into the shared rule."""
    assert SELECTOR is not None
    for name, cluster in ((first, "c1"), (second, "c2"), (first, "c1")):
        primaries = Primaries({"metadata": {"name": name}}, LOCAL, cluster)
        assert selector_of(SELECTOR, primaries).match_labels == {"owner": f"{name}.{cluster}"}


def owned(uid: str, *, controller: bool = True) -> dict[str, Any]:
    reference = {"uid": uid, "controller": controller}
    return {
        "metadata": {"ownerReferences": [reference], "labels": {"a": "b"}},
        "data": {"OPENAI_API_KEY": "k", "internal": "x"},
    }


def test_a_guard_admits_only_what_the_primary_controls() -> None:
    """Another object's Secret is treated as if it were not there."""
    guard = Guard(controlled=True)
    assert guard.admits(owned("u"), "u")
    assert not guard.admits(owned("other"), "u")
    assert not guard.admits(owned("u", controller=False), "u")
    assert not guard.admits({"metadata": {}}, "u")
    assert not Guard(labels={"a": "c"}).admits(owned("u"), "u")


def test_a_guard_narrows_what_travels() -> None:
    """Only the documented keys reach the customer."""
    guards = guards_of(defaults.published_resources()[1])
    narrowed = guards[defaults.TOKEN_IDENTIFIER].narrowed(owned("u"))
    assert narrowed["data"] == {"OPENAI_API_KEY": "k"}
    assert Guard().narrowed(owned("u")) == owned("u")


@pytest.mark.parametrize("text", ["", "x", "[]", "[" * 4000, '{"kyes": []}', '{"keys": 1}'])
def test_a_guard_that_cannot_be_read_stops_the_copying(text: str) -> None:
    """Without its guard nothing may travel."""
    with pytest.raises(InvalidObjectError):
        guards_of({"metadata": {"annotations": {"guard.syncagent.kcp.io/x": text}}})


@pytest.mark.parametrize(
    ("api_version", "name", "expected"),
    [
        ("llm.privatellms.msp/v1alpha1", "LLMInstance", ("llm.privatellms.msp", "LLMInstance")),
        ("llm.privatellms.msp/v2", "LLMInstance", ("llm.privatellms.msp", "LLMInstance")),
        ("v1", "Secret", ("", "Secret")),
        ("", "LLMInstance", ("", "LLMInstance")),
    ],
)
def test_an_owner_is_of_a_kind_in_whatever_version(
    api_version: str, name: str, expected: tuple[str, str]
) -> None:
    """A copy whose version changed still belongs to whom it was made for."""
    reference = {"apiVersion": api_version, "kind": name, "uid": "u"}

    assert kind_of(reference) == expected
