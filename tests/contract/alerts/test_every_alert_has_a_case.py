"""Every alert of the charts is tried by Prometheus: the deep tests beside this one say how."""

from typing import Any

import pytest

from alerts_cases import CASES
from alerts_series import steady
from alerts_well import LEADER
from privatellm.telemetry.families import authserver, operator


def test_every_alert_has_a_case_and_every_case_an_alert(rules: dict[str, dict[str, Any]]) -> None:
    """A new alert is not told from one that never fires until somebody says when it must."""
    assert rules.keys() == {case.alert for case in CASES}


def test_cases_have_names_of_their_own() -> None:
    """A report that says which one failed says it of one."""
    assert len({case.name for case in CASES}) == len(CASES)


def test_a_case_cannot_name_what_no_part_exposes() -> None:
    """A world of invented series would prove a rule that never fires."""
    with pytest.raises(ValueError, match="private-llm-operator exposes no private_llm_auth_"):
        LEADER.exposes(authserver.WATCH_FAILURES, steady(0))
    with pytest.raises(ValueError, match="has the labels"):
        LEADER.exposes(operator.LEADING, steady(1), worker="0")
