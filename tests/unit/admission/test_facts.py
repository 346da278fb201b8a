"""The facts say who is trusted with what."""

from dataclasses import replace

import pytest

from privatellm.admission import AdmissionFacts
from privatellm.errors import InvalidInputError

FACTS = AdmissionFacts(
    operator_usernames=("system:serviceaccount:llm:operator",),
    system_namespace="llm",
    token_namespace="llm-keys",
    ingress_class="public",
)


def test_the_operator_decides_and_writes() -> None:
    assert FACTS.operators.usernames == FACTS.operator_usernames
    assert set(FACTS.operator_usernames) < set(FACTS.writers.usernames)


def test_controllers_write_and_decide_nothing() -> None:
    assert set(FACTS.controller_usernames) < set(FACTS.writers.usernames)
    assert not set(FACTS.controller_usernames) & set(FACTS.operators.usernames)


def test_no_controller_that_acts_for_tenants_is_trusted() -> None:
    """An autoscaler or a StatefulSet does what its owner says."""
    deputies = ("autoscaler", "statefulset", "daemon-set", "job", "replication-controller")

    assert not [u for u in FACTS.controller_usernames if any(d in u for d in deputies)]


def test_nobody_breaks_the_glass_unless_told() -> None:
    callers = (FACTS.operators, FACTS.writers, FACTS.rescuers)

    assert [caller.groups for caller in callers] == [()] * 3
    assert FACTS.rescuers.usernames == ()


def test_break_glass_groups_may_do_all() -> None:
    facts = replace(FACTS, break_glass_groups=("sre",))
    callers = (facts.operators, facts.writers, facts.rescuers)

    assert [caller.groups for caller in callers] == [("sre",)] * 3


def test_the_system_namespace_is_never_a_tenants() -> None:
    facts = replace(FACTS, further_platform_namespaces=("edge",))

    assert facts.platform_namespaces == ("llm", "edge")


def test_policies_that_nobody_passes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one operator"):
        replace(FACTS, operator_usernames=())


@pytest.mark.parametrize(
    "wrong",
    [
        {"operator_usernames": ("",)},
        {"system_namespace": ""},
        {"token_namespace": ""},
        {"ingress_class": ""},
        {"break_glass_groups": ("",)},
    ],
)
def test_an_empty_value_is_refused(wrong: dict[str, str]) -> None:
    """An unset chart value must not become a policy that guards nothing."""
    with pytest.raises(InvalidInputError, match="may be empty"):
        replace(FACTS, **wrong)  # type: ignore[arg-type]
