"""Names of local copies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_sync_agent.naming.hashes import sha1, sha3
from privatellm_sync_agent.naming.names import Identity, IllegalNameError, NamingRule
from privatellm_sync_agent.published import defaults
from privatellm_sync_agent.templates import TemplateError

CLUSTER = "34hg2j4gh24jdfgf"
label = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
subdomain = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?(\.[a-z0-9]{1,60}){0,3}\Z")
cluster_name = st.from_regex(r"\A[a-z0-9]{4,16}\Z")


def remote(
    name: str = "my-llm", namespace: str = "team-a", cluster: str = CLUSTER
) -> dict[str, Any]:
    metadata = {"name": name, "annotations": {"kcp.io/cluster": cluster}}
    return {"metadata": metadata | ({"namespace": namespace} if namespace else {})}


def test_the_defaults_are_upstreams() -> None:
    """Hashes of namespace and name, in a namespace called like the cluster."""
    expected = f"{sha3('team-a')[:20]}-{sha3('my-llm')[:20]}"
    assert Identity("", CLUSTER, expected) == NamingRule().local_name(remote())


def test_an_object_without_a_namespace_gets_a_default_name_too() -> None:
    """Upstream's default fails for it."""
    local = NamingRule().local_name(remote(namespace=""))
    assert local == Identity("", CLUSTER, sha3("my-llm")[:20])


def test_copies_without_namespaces_of_two_workspaces_do_not_meet() -> None:
    """Upstream's default gives both one name."""
    names = {
        NamingRule().local_name(remote(cluster=cluster), namespaced=False).name
        for cluster in ("one", "two")
    }
    assert len(names) == 2


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("$remoteName", "my-llm"),
        ("$remoteNameHash", sha1("my-llm")[:20]),
        ("$remoteNamespace-$remoteName", "team-a-my-llm"),
        ("$remoteNamespaceHash-x", f"{sha1('team-a')[:20]}-x"),
        ("$remoteClusterName", CLUSTER),
        ("fixed", "fixed"),
        ("{{ .Object.metadata.name }}.{{ .ClusterPath | replace `:` `-` }}", "my-llm.root-acme"),
    ],
)
def test_a_pattern_is_a_template_or_has_placeholders(pattern: str, name: str) -> None:
    """Deprecated placeholders keep working; the hash ones are not mistaken for the shorter ones."""
    assert name == NamingRule(name=pattern).local_name(remote(), "root:acme").name


@pytest.mark.parametrize(
    "rule",
    [
        NamingRule(name="UPPER"),
        NamingRule(name="{{ .Object.spec }}"),
        NamingRule(name="x" * 254),
        NamingRule(name="../{{ .ClusterName }}"),
        NamingRule(name="{{ .Object.metadata.absent }}"),
        NamingRule(namespace="a.b"),
        NamingRule(namespace="x" * 64),
        NamingRule(namespace="{{ .ClusterPath }}"),
    ],
)
def test_an_illegal_name_is_refused_and_never_repaired(rule: NamingRule) -> None:
    """A silent repair could make two tenants' names meet."""
    with pytest.raises(IllegalNameError):
        rule.local_name(remote(), "root:acme")


def test_a_template_that_cannot_be_rendered_yields_no_name() -> None:
    """The error reaches the event of the object."""
    with pytest.raises(TemplateError):
        NamingRule(name="{{ .Object.a.b }}").local_name(remote())


def test_legacy_placeholders_in_names_are_not_expanded_twice() -> None:
    """A name cannot smuggle a placeholder in."""
    local = NamingRule(namespace="$remoteNamespace", name="x.$remoteName").local_name(remote())
    assert local == Identity("", "team-a", "x.my-llm")


@given(cluster_name, label, subdomain, cluster_name, label, subdomain)
def test_the_defaults_for_our_kinds_keep_names_and_never_let_two_namespaces_meet(
    cluster: str, namespace: str, name: str, cluster2: str, namespace2: str, name2: str
) -> None:
    """Every (workspace, namespace) has a local namespace of its own, 63 characters at most."""
    rule = NamingRule(defaults.NAMESPACE, defaults.NAME)
    first = rule.local_name(remote(name, namespace, cluster))
    second = rule.local_name(remote(name2, namespace2, cluster2))

    assert first.name == name
    assert len(first.namespace) <= 63
    assert (first.namespace == second.namespace) == ((cluster, namespace) == (cluster2, namespace2))
