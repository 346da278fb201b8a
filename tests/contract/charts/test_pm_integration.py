"""The integration chart: who may bind, what the agent may do, and that every value is used."""

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

import chart_helm
from chart_checks import CLUSTER_SCOPED, check
from chart_helm import REPOSITORY, Helm, HelmError, Manifest
from chart_values import leaves, merged, nested, other_value, schema_of, values_of
from privatellm_local.packaging.listing import Entry
from privatellm_local.packaging.pm_integration_values import PM_INTEGRATION

CHART = REPOSITORY / PM_INTEGRATION.directory
SCHEMA = schema_of(CHART)
EXPORT = "llm.privatellms.msp"
OF_KCP = CLUSTER_SCOPED | {"APIExport", "ContentConfiguration", "ProviderMetadata"}
PICTURE = {"data": "aGVsbG8="}
LINK = [{"displayName": "Docs", "url": "https://docs.example"}]

OTHERS: dict[tuple[str, ...], Any] = {
    ("global", "publicScheme"): "https",
    ("PUBLIC_SCHEME",): "https",
    ("provider", "contacts"): [{"displayName": "Ada", "email": "ada@example.com"}],
    **{
        ("provider", name): LINK
        for name in ("documentation", "links", "preferredSupportChannels", "helpCenterData")
    },
    **{
        ("provider", "icon", tone, part): "https://a/b" if part == "url" else "b3RoZXI="
        for tone in ("light", "dark")
        for part in ("url", "data")
    },
    ("provider", "detailViewExtensions"): ["https://a/b"],
    ("content", "delivery"): "inline",
    ("content", "path"): "/other.json",
    ("content", "internalUrl"): "http://a/b",
    ("content", "logoUrl"): "https://a/b",
    ("content", "keyLifetimes"): ["720h"],
    ("content", "replicaChoices"): [7],
}

REMOTE = {"enabled", "name", "entity", "delivery", "path", "internalUrl"}
"""Values of the content that have an effect without carrying it."""


def context_of(leaf: Entry) -> dict[str, Any]:
    """Return the values without which this one has no effect."""
    if leaf.path[:2] == ("provider", "icon"):
        return {"provider": {"icon": {"light": PICTURE, "dark": PICTURE}}}
    if leaf.path[0] == "content" and leaf.path[1] not in REMOTE:
        return {"content": {"delivery": "inline"}}
    return {}


def render(helm: Helm, values: dict[str, Any] | None = None) -> tuple[Manifest, ...]:
    """Return the chart's objects."""
    return helm.template(values, chart=CHART)


def test_the_chart_passes_a_strict_lint(helm: Helm) -> None:
    """With its defaults."""
    assert "0 chart(s) failed" in helm.run("lint", "--strict", str(CHART))


def test_the_export_has_no_spec(helm: Helm) -> None:
    """Resources and claims are the agent's; a spec of the chart would undo them at every upgrade."""
    export = chart_helm.one(render(helm), "APIExport", EXPORT)

    assert export.keys() == {"apiVersion", "kind", "metadata"}
    assert export["apiVersion"] == "apis.kcp.io/v1alpha2"
    assert export["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert export["metadata"]["labels"]["ui.platform-mesh.io/content-for"] == EXPORT


def test_only_this_export_may_be_bound(helm: Helm) -> None:
    """By its name, with one verb."""
    role = chart_helm.one(render(helm, {"apiExport": {"name": "mine"}}), "ClusterRole", "mine-bind")

    assert role["rules"] == [
        {
            "apiGroups": ["apis.kcp.io"],
            "resources": ["apiexports"],
            "resourceNames": ["mine"],
            "verbs": ["bind"],
        }
    ]


def subjects(objects: tuple[Manifest, ...]) -> set[tuple[str, str]]:
    """Return everybody who gets any right."""
    return {
        (subject["kind"], subject["name"])
        for item in objects
        for subject in item.get("subjects", ())
    }


def test_nobody_anonymous_may_bind_unless_a_value_names_them(helm: Helm) -> None:
    """And then the notes say what it means."""
    assert subjects(render(helm)) == {("Group", "system:authenticated")}
    chosen = {"bind": {"users": ["system:anonymous"], "groups": []}}
    assert subjects(render(helm, chosen)) == {("User", "system:anonymous")}


def test_nobody_may_bind_when_nobody_is_named(helm: Helm) -> None:
    """A role for nobody would only tempt."""
    objects = render(helm, {"bind": {"users": [], "groups": []}})

    assert chart_helm.of_kind(objects, "ClusterRole") == ()
    assert subjects(objects) == set()


def documented_rules() -> list[Manifest]:
    """Return the rules of the how-to page for the provider's workspace."""
    page = (REPOSITORY / "docs/how-to/sync-agent.md").read_text()
    section = page.split("## 1. ")[1].split("## 2. ")[0]
    roles = [
        block for block in re.findall(r"```yaml\n(.*?)```", section, re.DOTALL) if "rules" in block
    ]
    rules: list[Manifest] = yaml.safe_load(roles[0])["rules"]
    return rules


def rights_in(rules: list[Manifest], export: str) -> set[tuple[str, ...]]:
    """Return each right, with the export's name replaced by a mark."""
    return {
        (
            group,
            resource,
            verb,
            *("EXPORT" if n == export else n for n in rule.get("resourceNames", ())),
        )
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_agents_rights_are_the_documented_ones(helm: Helm) -> None:
    """For the user that the platform team names, with access to the workspace."""
    objects = render(helm, {"agent": {"users": ["llm-agent"], "groups": ["agents"]}})
    role = chart_helm.one(objects, "ClusterRole", f"{EXPORT}-sync-agent")

    assert rights_in(role["rules"], EXPORT) == rights_in(documented_rules(), "private-llm")
    for name, reference in (
        (f"{EXPORT}-sync-agent", f"{EXPORT}-sync-agent"),
        (f"{EXPORT}-sync-agent-access", "system:kcp:workspace:access"),
    ):
        binding = chart_helm.one(objects, "ClusterRoleBinding", name)
        assert binding["roleRef"]["name"] == reference
        assert subjects((binding,)) == {("User", "llm-agent"), ("Group", "agents")}


def test_content_has_one_delivery(helm: Helm) -> None:
    """The portal prefers what is inline, so a URL beside it would mislead."""
    for delivery, expected in (
        ("remote", {"remoteConfiguration"}),
        ("inline", {"inlineConfiguration"}),
    ):
        objects = render(helm, {"content": {"delivery": delivery}})
        found = chart_helm.one(objects, "ContentConfiguration", "llm-ui")
        assert found["spec"].keys() == expected
        assert found["metadata"]["labels"]["ui.platform-mesh.io/content-for"] == EXPORT


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"publicHost": "x"}, "publicHost"),
        ({"content": {"path": "pm-content.json"}}, "path"),
        ({"content": {"keyLifetimes": ["soon"]}}, "keyLifetimes"),
        ({"provider": {"links": [{"url": "javascript:alert(1)", "displayName": "x"}]}}, "url"),
        ({"provider": {"displayName": ""}}, "displayName"),
        ({"bind": {"all": True}}, "all"),
    ],
    ids=str,
)
def test_helm_refuses_what_the_schema_forbids(
    helm: Helm, values: dict[str, object], said: str
) -> None:
    """And names the value."""
    with pytest.raises(HelmError, match=said):
        render(helm, values)


@pytest.mark.deep
@given(values=values_of(SCHEMA, whole=SCHEMA))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_of_the_schema_render(helm: Helm, values: dict[str, Any]) -> None:
    """Quotes, braces, markup and 4-byte characters included; half an icon is refused elsewhere."""
    values.get("provider", {}).pop("icon", None)

    check(render(helm, json.loads(json.dumps(values))), OF_KCP)


@pytest.mark.deep
@pytest.mark.parametrize(
    "leaf", tuple(leaves(PM_INTEGRATION)), ids=lambda leaf: ".".join(leaf.path)
)
def test_a_value_changes_what_is_rendered(helm: Helm, leaf: Entry) -> None:
    """With another value than the default the objects differ."""
    before = merged(nested(leaf.path, leaf.default), context_of(leaf))
    after = merged(before, nested(leaf.path, other_value(leaf, SCHEMA, OTHERS)))

    assert render(helm, before) != render(helm, after)
