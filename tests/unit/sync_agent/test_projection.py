"""Projection: definitions become schemas, and published resources become an export."""

import copy
from typing import Any

import pytest

from privatellm.api.crds import all_crds
from privatellm_sync_agent.projection.definitions import (
    ProjectionError,
    local_version,
    projected,
    storage_version,
)
from privatellm_sync_agent.projection.exports import Published, needed_claims, updated_export
from privatellm_sync_agent.projection.schemas import schema_name, schema_of
from privatellm_sync_agent.published import defaults, spec
from privatellm_sync_agent.published.spec import PublishedResourceSpec

SCHEMA = {"openAPIV3Schema": {"type": "object"}}


def version(name: str, *, storage: bool = False, served: bool = True) -> dict[str, Any]:
    return {"name": name, "storage": storage, "served": served, "schema": SCHEMA}


CRD: dict[str, Any] = {
    "metadata": {"name": "things.example.com", "generation": 3},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "kind": "Thing",
            "plural": "things",
            "singular": "thing",
            "listKind": "ThingList",
            "shortNames": ["th"],
            "categories": ["all"],
        },
        "versions": [version("v1beta1"), version("v1", storage=True), version("v2")],
        "conversion": {"strategy": "Webhook"},
    },
}


def published(**fields: Any) -> PublishedResourceSpec:
    resource = {"apiGroup": "example.com", "kind": "Thing"} | fields.pop("resource", {})
    return spec.parse({"metadata": {"name": "x"}, "spec": {"resource": resource, **fields}})


def names(definition: dict[str, Any]) -> list[str]:
    return [version["name"] for version in definition["versions"]]


def test_without_a_projection_the_api_is_the_same_in_kcp() -> None:
    """But without its conversion, which kcp could not call."""
    definition = projected(CRD, published())
    assert definition == {key: value for key, value in CRD["spec"].items() if key != "conversion"}


def test_chosen_versions_are_published_and_one_of_them_is_stored() -> None:
    """The last served one, when the stored one was left out."""
    definition = projected(CRD, published(resource={"versions": ["v1beta1", "v2"]}))
    assert names(definition) == ["v1beta1", "v2"]
    assert storage_version(definition)["name"] == "v2"
    assert local_version(CRD, published(resource={"version": "v1beta1"}))["name"] == "v1beta1"


def test_renamed_versions_are_sorted_as_kubernetes_sorts_them() -> None:
    """Stable ones first, newer before older."""
    definition = projected(CRD, published(projection={"versions": {"v1": "v3", "v2": "v3alpha1"}}))
    assert names(definition) == ["v3", "v1beta1", "v3alpha1"]
    assert storage_version(definition)["name"] == "v3"


def test_a_new_kind_brings_its_other_names() -> None:
    """List kind, singular and plural follow; a plural of one's own wins; empty lists clear."""
    renamed = projected(CRD, published(projection={"kind": "Gadget", "shortNames": []}))["names"]
    assert (renamed["listKind"], renamed["singular"], renamed["plural"]) == (
        "GadgetList",
        "gadget",
        "gadgets",
    )
    assert (renamed["shortNames"], renamed["categories"]) == ([], ["all"])
    own = projected(
        CRD, published(projection={"kind": "Fox", "plural": "foxes", "scope": "Cluster"})
    )
    assert (own["names"]["plural"], own["scope"]) == ("foxes", "Cluster")


@pytest.mark.parametrize(
    "fields",
    [
        {"resource": {"versions": ["v9"]}},
        {"projection": {"version": "v9"}},
        {"projection": {"versions": {"v9": "v8"}}},
        {"projection": {"versions": {"v1": "v2"}}},
    ],
)
def test_a_projection_that_does_not_fit_the_definition_is_refused(fields: dict[str, Any]) -> None:
    """Versions that are not there, and two versions with one name."""
    with pytest.raises(ProjectionError):
        projected(CRD, published(**fields))


def test_no_served_version_is_refused() -> None:
    """There would be nothing to publish."""
    crd = copy.deepcopy(CRD)
    crd["spec"]["versions"][2]["served"] = False
    with pytest.raises(ProjectionError):
        projected(crd, published(resource={"version": "v2"}))


def test_an_equal_definition_always_has_one_schema() -> None:
    """A definition that was changed and changed back leads to the schema it had."""
    before = copy.deepcopy(CRD)
    first = schema_name(projected(CRD, published()))
    changed = schema_name(projected(CRD, published(projection={"categories": []})))
    assert first == schema_name(projected(before, published())) != changed
    assert first.endswith(".things.example.com")
    assert before == CRD


def test_a_schema_of_several_versions_says_how_they_convert() -> None:
    """Kcp refuses it otherwise; with one version it is left out."""
    several = schema_of(projected(CRD, published()), "agent", 3)
    assert several["spec"]["conversion"] == {"strategy": "None"}
    assert several["spec"]["versions"][0]["schema"] == {"type": "object"}
    assert several["metadata"]["annotations"]["syncagent.kcp.io/source-generation"] == "3"
    one = schema_of(projected(CRD, published(resource={"version": "v1"})), "agent", 3)
    assert "conversion" not in one["spec"]


def our_published() -> tuple[Published, ...]:
    crds = {crd["spec"]["names"]["kind"]: crd for crd in all_crds()}
    found = []
    for manifest in defaults.published_resources():
        parsed = spec.parse(manifest)
        definition = projected(crds[parsed.resource.kind], parsed)
        found.append(Published(parsed, schema_name(definition)))
    return tuple(found)


def test_our_kinds_need_two_claims_with_the_fewest_verbs() -> None:
    """6b.M, kcp#3840: events, and copies of Secrets only; nothing of kcp's own, such as workspaces."""
    assert [claim.manifest() for claim in needed_claims(our_published())] == [
        {"group": "", "resource": "events", "verbs": ["create", "get", "patch", "update"]},
        {
            "group": "",
            "resource": "secrets",
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            "defaultSelector": {"matchLabels": {"syncagent.kcp.io/copy": "true"}},
        },
    ]


def test_claims_on_one_resource_are_joined() -> None:
    """A customer's own Secrets are needed too, so the claim is no longer for copies only."""
    related = [
        {
            "identifier": "up",
            "origin": "service",
            "kind": "Secret",
            "object": {"template": {"template": "x"}},
        },
        {
            "identifier": "down",
            "origin": "kcp",
            "kind": "Secret",
            "object": {"template": {"template": "x"}},
        },
    ]
    one = Published(published(related=related, enableWorkspacePaths=True), "v1.things.example.com")
    secrets = next(claim for claim in needed_claims([one]) if claim.resource == "secrets")
    assert not secrets.only_copies
    assert "delete" in secrets.verbs
    assert "logicalclusters" in {claim.resource for claim in needed_claims([one])}


def test_what_is_exported_by_ourselves_needs_no_claim() -> None:
    """A related object of a published kind is reached through the export itself."""
    related = [
        {
            "identifier": "x",
            "origin": "kcp",
            "group": "example.com",
            "version": "v1",
            "resource": "things",
            "object": {"template": {"template": "x"}},
        }
    ]
    one = Published(published(related=related), "v1.things.example.com")
    assert {claim.resource for claim in needed_claims([one])} == {"events"}


def test_others_entries_and_claims_of_an_export_are_never_touched() -> None:
    """Ours are added or replaced in place, the verbs of a claim are only ever widened."""
    foreign = {
        "name": "foxes",
        "group": "fox.io",
        "schema": "v1.foxes.fox.io",
        "storage": {"crd": {}},
    }
    old = {
        "name": "llminstances",
        "group": "llm.privatellms.msp",
        "schema": "v0.old",
        "storage": {},
    }
    claim = {
        "group": "",
        "resource": "secrets",
        "verbs": ["get"],
        "defaultSelector": {"matchAll": True},
    }
    other = {"group": "x.io", "resource": "xs", "verbs": ["*"], "identityHash": "h"}
    export = {
        "metadata": {"name": "llm", "resourceVersion": "1"},
        "spec": {"resources": [foreign, old], "permissionClaims": [claim, other]},
    }
    kept = copy.deepcopy(export)
    result = updated_export(export, our_published(), "agent")
    resources = {entry["name"]: entry["schema"] for entry in result["spec"]["resources"]}
    claims = {entry["resource"]: entry for entry in result["spec"]["permissionClaims"]}

    assert resources["foxes"] == "v1.foxes.fox.io"
    assert resources["llminstances"] != "v0.old"
    assert claims["xs"] == other
    assert claims["secrets"]["defaultSelector"] == {"matchAll": True}
    assert "delete" in claims["secrets"]["verbs"]
    assert result == updated_export(result, our_published(), "agent")
    assert kept == export
