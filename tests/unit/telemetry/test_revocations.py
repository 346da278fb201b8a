"""How long keys live on after their end: measured for each pod, once."""

from datetime import UTC, datetime
from typing import Any

from privatellm.telemetry.passes import PassRecord
from privatellm.telemetry.tracing import SpanRecord
from privatellm_operator.observing.revocations import Revocations

ENDED = datetime(2026, 11, 30, 9, tzinfo=UTC)


def removal(verifier: str = "v-abcdefghijkl", **changes: Any) -> PassRecord:
    """Return a pass that removed a Secret of the token namespace."""
    facts: dict[str, Any] = {
        "name": "delete secrets",
        "began": int(ENDED.timestamp()) * 10**9,
        "ended": int(ENDED.timestamp()) * 10**9 + 1,
        "attributes": {"k8s.namespace.name": "keys", "private_llm.object.name": verifier},
    }
    return PassRecord(0, [SpanRecord(**facts | changes)])


def later(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(ENDED.timestamp() + milliseconds / 1000, UTC)


class Measured(Revocations):
    """Remembers every lag in milliseconds."""

    def __init__(self) -> None:
        self.lags: list[int] = []
        super().__init__("keys", lambda seconds: self.lags.append(round(seconds * 1000)))


def test_the_lag_of_a_key_is_measured_once_for_each_pod() -> None:
    """However often a pod tells of it."""
    revocations = Measured()
    revocations.note(removal())

    for _ in range(2):
        revocations.hear("pod-a", {"abcdefghijkl": later(40)})
        revocations.hear("pod-b", {"abcdefghijkl": later(70)})

    assert revocations.lags == [40, 70]


def test_a_pod_whose_clock_is_behind_has_no_negative_lag() -> None:
    revocations = Measured()
    revocations.note(removal())

    revocations.hear("pod", {"abcdefghijkl": later(-5)})

    assert revocations.lags == [0]


def test_keys_that_nobody_here_ended_are_not_measured() -> None:
    """Nor removals that failed, nor Secrets of other namespaces."""
    revocations = Measured()
    elsewhere = {"k8s.namespace.name": "acme", "private_llm.object.name": "v-abcdefghijkl"}
    revocations.note(removal(attributes=elsewhere))
    revocations.note(removal(error="UnavailableError"))
    revocations.note(removal("v-other"))

    revocations.hear("pod", {"abcdefghijkl": later(10), "mnopqrstuvwx": later(10)})

    assert revocations.lags == []


def test_a_removal_that_is_repeated_counts_from_the_first() -> None:
    """The second one found nothing to remove."""
    revocations = Measured()
    revocations.note(removal())
    revocations.note(removal(began=int(later(5000).timestamp() * 1000) * 10**6))

    revocations.hear("pod", {"abcdefghijkl": later(20)})

    assert revocations.lags == [20]
