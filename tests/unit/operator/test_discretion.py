"""What customers may read of words that an API server or a node wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operator_objects import world
from privatellm.errors import ForbiddenError
from privatellm.kube.failures import of_answer
from privatellm_operator.reconcile.discretion import for_customers
from privatellm_operator.reconcile.instance.status import Outcome, refusal_text, status_of
from privatellm_operator.settings import PublicSettings

NAMESPACE = "2xk3-9f1e"
ACCOUNT = "system:serviceaccount:private-llm-system:private-llm-operator"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            f"PATCH /api/v1/namespaces/{NAMESPACE}/secrets/x failed: secrets is forbidden",
            "secrets is forbidden",
        ),
        (
            f'User "{ACCOUNT}" cannot patch resource "secrets" in the namespace "{NAMESPACE}"',
            'the operator cannot patch resource "secrets" in this namespace',
        ),
        (
            f"unable to create new content in namespace {NAMESPACE} because it ends",
            "unable to create new content in this namespace because it ends",
        ),
        (
            f"couldn't find key api-key in Secret {NAMESPACE}/x-llama-key",
            "couldn't find key api-key in Secret x-llama-key",
        ),
        (f"{ACCOUNT} may not", "an account of the platform may not"),
        (f'namespaces "{NAMESPACE}" not found', "this namespace not found"),
        (
            'pods "a" is forbidden: exceeded quota: small',
            'pods "a" is forbidden: exceeded quota: small',
        ),
    ],
)
def test_what_names_the_platform_is_left_out_and_the_rest_stays(said: str, told: str) -> None:
    """Requests, accounts and namespaces go; what was wrong is what a customer needs."""
    assert for_customers(said, NAMESPACE) == told


@pytest.mark.parametrize("namespace", ["a", "default", "secrets", "demo.x", "team"])
def test_a_namespace_that_is_an_ordinary_word_damages_no_sentence(namespace: str) -> None:
    """Only where it is said to be a namespace, it is one."""
    text = 'The default team of a demo wrote secrets/x to https://demo.x/v1 in namespace "teams".'

    assert for_customers(text, namespace).count(" ") == text.count(" ")
    assert "https://demo.x/v1" in for_customers(text, namespace)


@given(st.text(), st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True))
def test_saying_it_twice_changes_nothing(text: str, namespace: str) -> None:
    """Or a settled status would be written again."""
    once = for_customers(text, namespace)

    assert for_customers(once, namespace) == once


def test_a_refused_write_tells_a_workspace_nothing_about_the_cluster() -> None:
    """The status goes up as it is."""
    seen = world()
    namespace = seen.instance.metadata.namespace
    body = (
        '{"kind": "Status", "reason": "Forbidden", "message": "secrets is forbidden: User '
        f'\\"{ACCOUNT}\\" cannot create resource \\"secrets\\" in the namespace \\"{namespace}\\""}}'
    )
    error = of_answer(f"POST /api/v1/namespaces/{namespace}/secrets", 403, body, {})
    assert isinstance(error, ForbiddenError)

    told = status_of(
        seen, Outcome(None, refusal_text(error)), PublicSettings(host="llm.example.com")
    )

    text = str([condition.message for condition in told.conditions])
    assert "secrets is forbidden: the operator cannot create" in text
    for hidden in ("serviceaccount", "private-llm-system", "/api/", f'"{namespace}"'):
        assert hidden not in text
