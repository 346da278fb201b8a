"""Events as the API server takes them."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from privatellm_operator.reconcile.events import LONGEST_NOTE, Announcement, event_about

MOMENT = datetime(2026, 3, 1, 12, 0, 0, 1234, tzinfo=UTC)


def an_object(name: str = "app") -> dict[str, object]:
    """Return an object that something happened to."""
    return {
        "apiVersion": "llm.privatellms.msp/v1alpha1",
        "kind": "APITokenRequest",
        "metadata": {"name": name, "namespace": "acme", "uid": "u", "resourceVersion": "3"},
    }


def test_an_event_names_its_object_and_its_reporter() -> None:
    event = event_about(
        an_object(), Announcement("KeyIssued", "Issued."), instance="pod-1", moment=MOMENT
    )

    assert event["regarding"] == {
        "apiVersion": "llm.privatellms.msp/v1alpha1",
        "kind": "APITokenRequest",
        "namespace": "acme",
        "name": "app",
        "uid": "u",
        "resourceVersion": "3",
    }
    assert event["metadata"]["namespace"] == "acme"
    assert (event["reason"], event["note"], event["type"]) == ("KeyIssued", "Issued.", "Normal")
    assert event["reportingInstance"] == "pod-1"


def test_what_needs_somebody_to_act_is_a_warning() -> None:
    announcement = Announcement("SecretConflict", "Delete it.", warning=True)

    event = event_about(an_object(), announcement, instance="pod-1", moment=MOMENT)

    assert event["type"] == "Warning"


def test_an_event_about_a_cluster_scoped_object_lives_in_the_default_namespace() -> None:
    regarding = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}

    event = event_about(regarding, Announcement("A", "b"), instance="pod-1", moment=MOMENT)

    assert event["metadata"]["namespace"] == "default"


def test_the_time_of_an_event_is_in_utc_with_microseconds() -> None:
    moment = MOMENT.astimezone(timezone(timedelta(hours=2)))

    event = event_about(an_object(), Announcement("A", "b"), instance="p", moment=moment)

    assert event["eventTime"] == "2026-03-01T12:00:00.001234Z"


@given(st.text(max_size=3000), st.integers(1, 253))
def test_texts_and_names_stay_within_the_api_servers_limits(note: str, length: int) -> None:
    regarding = an_object("a" * length)

    event = event_about(regarding, Announcement("A", note), instance="p" * 300, moment=MOMENT)

    assert len(event["note"].encode()) <= LONGEST_NOTE
    assert note.startswith(event["note"])
    assert len(event["metadata"]["name"]) <= 253
    assert len(event["reportingInstance"]) <= 128


def test_two_events_about_one_object_have_different_names() -> None:
    names = {
        event_about(an_object(), Announcement("A", "b"), instance="p", moment=MOMENT)["metadata"][
            "name"
        ]
        for _ in range(2)
    }

    assert len(names) == 2
