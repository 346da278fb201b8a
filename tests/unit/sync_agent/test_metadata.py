"""Which metadata travels, and what is copied of an object."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_sync_agent.objects.metadata import PROTECTED_DOMAINS, content_of, may_travel


@pytest.mark.parametrize(
    "key", ["team", "acme.com/cost-centre", "apeirora.eu/llm-api-compatibility"]
)
def test_a_customers_own_key_travels(key: str) -> None:
    """Labels that no control plane reads are the customer's business."""
    assert may_travel(key)


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.io/ingress.class",
        "app.kubernetes.io/managed-by",
        "kubectl.kubernetes.io/last-applied-configuration",
        "pod-security.kubernetes.io/enforce",
        "authentication.k8s.io/x",
        "kcp.io/cluster",
        "kcp.io/path",
        "syncagent.kcp.io/agent-name",
        "syncagent.kcp.io/remote-object-cluster",
        "claimed.internal.apis.kcp.io/abc",
        "traefik.ingress.kubernetes.io/router.priority",
        "traefik.io/x",
        "traefik.enable",
        "llm.privatellms.msp/instance",
        "x.llm.privatellms.msp/instance",
    ],
)
def test_a_control_planes_key_never_travels(key: str) -> None:
    """A customer cannot reach Kubernetes, kcp, the edge, the operator or the agent."""
    assert not may_travel(key)


@given(st.sampled_from(PROTECTED_DOMAINS), st.from_regex(r"\A([a-z]{1,8}\.)?\Z"), st.text())
def test_no_domain_below_a_protected_one_travels(domain: str, below: str, name: str) -> None:
    """Whatever stands in front of the domain or behind the slash."""
    assert not may_travel(f"{below}{domain}/{name.replace('/', '')}")


def test_content_is_everything_but_type_identity_and_status() -> None:
    """Data of kinds without a spec is copied as well."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "x",
            "uid": "1",
            "finalizers": ["f"],
            "ownerReferences": [{}],
            "labels": {"team": "a", "kcp.io/x": "y"},
            "annotations": {"kcp.io/cluster": "c"},
        },
        "type": "Opaque",
        "data": {"k": "dg=="},
        "status": {"phase": "x"},
    }
    expected = {"type": "Opaque", "data": {"k": "dg=="}}
    metadata = {"labels": {"team": "a"}, "annotations": {}}
    assert expected | {"metadata": metadata} == content_of(manifest)
