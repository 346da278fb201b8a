"""The double's pure half: paths are taken apart, and objects look the same after there and back."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.kcp import labels
from privatellm_local.kcp.rewriting import Inward, outward
from privatellm_local.kcp.urls import Export, Place, Resource

pytestmark = pytest.mark.deep

name = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?\Z")
cluster = st.from_regex(r"\A[a-z][a-z0-9]{3,15}\Z")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/clusters/root:acme/api/v1", Place("root:acme", None, "api/v1")),
        ("/clusters/abc", Place("abc", None, "")),
        ("/services/apiexport/c/e/clusters/*/apis", Place("*", Export("c", "e"), "apis")),
        ("/services/apiexport/c/e/clusters/%2A/apis", Place("*", Export("c", "e"), "apis")),
        ("/services/apiexport/c/e", Place("", Export("c", "e"), "")),
        ("/clusters/UPPER/api", None),
        ("/api/v1", None),
        ("/", None),
    ],
)
def test_a_path_names_a_workspace_or_a_virtual_one(path: str, place: Place | None) -> None:
    """Or nothing, which is refused."""
    assert place == Place.parse(path)


@pytest.mark.parametrize(
    ("rest", "resource"),
    [
        ("api/v1/namespaces", Resource("", "v1", "namespaces")),
        ("api/v1/namespaces/n", Resource("", "v1", "namespaces", "", "n")),
        ("api/v1/namespaces/n/status", Resource("", "v1", "namespaces", "", "n", "status")),
        ("api/v1/namespaces/n/secrets", Resource("", "v1", "secrets", "n")),
        ("api/v1/namespaces/n/secrets/s", Resource("", "v1", "secrets", "n", "s")),
        ("apis/g/v1/things/x/status", Resource("g", "v1", "things", "", "x", "status")),
        ("apis/g/v1/namespaces/n/things/x", Resource("g", "v1", "things", "n", "x")),
        ("apis/g/v1", None),
        ("version", None),
    ],
)
def test_a_path_names_a_resource(rest: str, resource: Resource | None) -> None:
    """Namespaces are a resource and a place at the same time."""
    assert resource == Resource.parse(rest)


@given(cluster, name, name)
def test_an_object_looks_the_same_after_there_and_back(
    where: str, namespace: str, called: str
) -> None:
    """With kcp.io/cluster, and without a trace of how it is stored."""
    for resource in (
        Resource("g", "v1", "things", namespace, called),
        Resource("g", "v1", "things", "", called),
        Resource("", "v1", "namespaces", "", called),
    ):
        kind = "Namespace" if resource.is_namespaces else "Thing"
        metadata: dict[str, Any] = {"name": called}
        if resource.namespace:
            metadata["namespace"] = namespace
        sent = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": {"a": 1}}
        kept = copy.deepcopy(sent)
        stored = Inward(where, resource).whole(sent)
        seen = outward(stored)
        annotations = seen["metadata"].pop("annotations")
        assert annotations == {labels.KCP_CLUSTER: where}
        assert seen == kept
        assert sent == kept


@given(cluster, cluster, name, name, name, name)
def test_no_two_objects_share_a_place(
    where: str, where2: str, namespace: str, namespace2: str, called: str, called2: str
) -> None:
    """Whatever the clusters, namespaces and names are."""
    first = Inward(where, Resource("g", "v1", "things", namespace, called)).path()
    second = Inward(where2, Resource("g", "v1", "things", namespace2, called2)).path()
    same = (where, namespace, called) == (where2, namespace2, called2)
    assert (first == second) == same


def test_a_client_cannot_forge_the_marks() -> None:
    """Neither the cluster nor a claim."""
    forged = {
        "labels": {labels.CLUSTER: "other", f"{labels.CLAIMED_PREFIX}x": "y", "mine": "1"},
        "annotations": {labels.NAMESPACE: "other", labels.KCP_CLUSTER: "other"},
    }
    sent = {"metadata": {"name": "x"} | forged}
    stored = Inward("c", Resource("g", "v1", "things", "n", "x")).whole(sent)["metadata"]
    assert stored["labels"] == {labels.CLUSTER: "c", "mine": "1"}
    assert stored["annotations"] == {labels.NAMESPACE: "n"}
