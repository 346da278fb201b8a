"""PublishedResources: read at the border, and refused where we cannot do what they ask."""

import re
from typing import Any

import pytest
import yaml

from privatellm.errors import InvalidObjectError
from privatellm_sync_agent.published import defaults, spec
from privatellm_sync_agent.published.refusals import refusals

COMPLETE = """
resource: {apiGroup: example.com, kind: Thing, versions: [v1, v2]}
filter:
  namespace: {matchLabels: {a: b}}
  resource: {matchExpressions: [{key: tier, operator: NotIn, values: [free]}]}
naming: {name: "{{ .Object.metadata.name }}", namespace: $remoteClusterName}
enableWorkspacePaths: true
projection:
  group: new.example.com
  versions: {v1: v1beta1}
  scope: Namespaced
  kind: NewThing
  plural: newthings
  shortNames: [nt]
  categories: []
mutation:
  spec: [{delete: {path: spec.x}}, {regex: {path: spec.y, pattern: a, replacement: b}}]
  status: [{template: {path: status.z, template: "{{ .Value }}"}}]
related:
  - identifier: credentials
    origin: service
    kind: Secret
    cleanup: true
    object:
      reference: {path: status.secret, regex: {pattern: ^a, replacement: b}}
      namespace: {template: {template: "{{ .ClusterName }}"}}
    watch: {byOwner: {}}
  - identifier: config
    origin: kcp
    version: v1
    resource: configmaps
    object:
      selector: {matchLabels: {of: "{{ .RemoteObject.metadata.name }}"}, rewrite: {regex: {replacement: x}}}
    watch: {bySelector: {matchLabels: {a: b}}}
  - identifier: widgets
    origin: kcp
    group: widgets.io
    version: v1
    resource: widgets
    identityHash: abc
    projection: {resource: gadgets}
    object: {template: {template: x}}
    mutation: {spec: [{delete: {path: data.x}}]}
synchronization: {enabled: true}
"""


def manifest(text: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "things"}, "spec": yaml.safe_load(text) | more}


def test_every_field_of_upstream_is_understood() -> None:
    """A complete PublishedResource is read and nothing of it is refused."""
    parsed = spec.parse(manifest(COMPLETE))
    assert refusals(parsed) == ()
    assert parsed.projection.categories == ()
    assert parsed.related[0].origin_resource == ("", "v1", "secrets")
    assert parsed.related[2].destination_resource == ("widgets.io", "v1", "gadgets")
    assert parsed.related[2].kcp_resource == ("widgets.io", "v1", "widgets")


def test_a_deprecated_version_means_this_version_only() -> None:
    """Public examples still use it."""
    parsed = spec.parse(manifest("resource: {apiGroup: '', kind: Thing, version: v1}"))
    assert parsed.resource.chosen_versions == ("v1",)
    assert parsed.synchronization.enabled
    assert parsed.projection.short_names is None


MINIMAL = "resource: {apiGroup: a, kind: B}"
RELATED = {
    "identifier": "x",
    "origin": "service",
    "kind": "Secret",
    "object": {"template": {"template": "x"}},
}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"unknown": 1}, "spec.unknown"),
        ({"resource": {"kind": "B"}}, "spec.resource.apiGroup"),
        (
            {"resource": {"apiGroup": "a", "kind": "B", "version": "v1", "versions": ["v1"]}},
            "exclude",
        ),
        ({"mutation": {"spec": [{}]}}, "exactly one"),
        (
            {"mutation": {"spec": [{"delete": {"path": "a"}, "regex": {"path": "a"}}]}},
            "exactly one",
        ),
        ({"projection": {"version": "v1", "versions": {"a": "b"}}}, "exclude"),
        ({"projection": {"scope": "Galaxy"}}, "scope"),
        ({"related": [RELATED, RELATED]}, "unique"),
        ({"related": [RELATED | {"resource": "secrets", "version": "v1"}]}, "either by kind"),
        ({"related": [RELATED | {"kind": "Pod"}]}, "ConfigMap or Secret"),
        ({"related": [RELATED | {"kind": "", "resource": "secrets"}]}, "come together"),
        ({"related": [RELATED | {"identityHash": "x"}]}, "identityHash"),
        ({"related": [RELATED | {"syncStatus": True}]}, "needs watch"),
        ({"related": [RELATED | {"object": {}}]}, "exactly one"),
        ({"related": [RELATED | {"watch": {}}]}, "exactly one"),
        ({"related": [RELATED | {"identifier": "a/b"}]}, "identifier"),
    ],
)
def test_a_broken_rule_is_named_with_its_field(change: dict[str, Any], named: str) -> None:
    """Unknown fields are refused as well: nothing is ignored."""
    with pytest.raises(InvalidObjectError, match=named):
        spec.parse(manifest(MINIMAL, **change))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"naming": {"name": "{{ range .x }}"}}, "spec.naming.name"),
        ({"mutation": {"spec": [{"cel": {"path": "a", "expression": "b"}}]}}, r"spec\[0\].cel"),
        ({"mutation": {"status": [{"delete": {"path": "a.#(b)"}}]}}, r"status\[0\].path"),
        ({"mutation": {"spec": [{"regex": {"path": "a", "pattern": "("}}]}}, "cannot be used"),
        ({"related": [RELATED | {"object": {"template": {"template": "{{"}}}]}, "object.template"),
    ],
)
def test_what_we_cannot_do_is_refused_before_anything_is_synced(
    change: dict[str, Any], named: str
) -> None:
    """The provider reads it in a condition, not every customer in an event."""
    reasons = refusals(spec.parse(manifest(MINIMAL, **change)))
    assert len(reasons) == 1
    assert re.search(named, reasons[0])


def test_our_own_published_resources_are_accepted() -> None:
    """What the chart installs is read, and nothing of it is refused."""
    for published in defaults.published_resources():
        assert refusals(spec.parse(published)) == ()


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, ("example.com", "Thing")),
        ({"synchronization": {"enabled": True}}, ("example.com", "Thing")),
        ({"naming": 1, "nonsense": {}}, ("example.com", "Thing")),
        ({"synchronization": {"enabled": False}}, None),
        ({"synchronization": {}}, None),
    ],
)
def test_a_kind_has_copies_unless_it_is_published_alone(
    fields: dict[str, Any], kind: spec.GroupKind | None
) -> None:
    """Also when the rest is refused: what was copied before is still there."""
    resource = {"apiGroup": "example.com", "kind": "Thing"}

    assert spec.copied_kind({"spec": {"resource": resource} | fields}) == kind
