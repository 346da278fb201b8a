"""The admin port: readiness of the whole pod, and when keys were last used."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import httpx
import pytest

from privatellm_authserver import fleet as fleet_module
from privatellm_authserver.admin import create_admin_app
from privatellm_authserver.fleet import SILENCE_SECONDS, Fleet, KeyTimes, KeyUses
from privatellm_authserver.reports import Report

MAX_STALENESS = 60.0


class Clock:
    """A clock that tests set."""

    now = 1000.0

    def __call__(self) -> float:
        """Return the time that was set."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fleet(clock: Clock) -> Fleet:
    return Fleet(2, clock)


@pytest.fixture
async def http(fleet: Fleet, clock: Clock) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_admin_app(fleet, MAX_STALENESS, clock))
    async with httpx.AsyncClient(transport=transport, base_url="http://admin") as client:
        yield client


async def test_a_pod_is_alive_before_it_is_ready(http: httpx.AsyncClient) -> None:
    """Restarting it would not bring the API server nearer."""
    alive, ready = await http.get("/healthz"), await http.get("/readyz")

    assert (alive.status_code, ready.status_code) == (200, 503)


@pytest.mark.parametrize(
    ("second", "passed", "reason"),
    [
        (Report(confirmed_at=1000.0), 0.0, None),
        (None, 0.0, "not running"),
        (Report(), 0.0, "has not seen all verifiers"),
        (Report(problem="Secrets are forbidden."), 0.0, "Secrets are forbidden."),
        (Report(confirmed_at=1000.0 - MAX_STALENESS), 0.0, None),
        (Report(confirmed_at=1000.0 - MAX_STALENESS - 1), 0.0, "61 s old"),
        (Report(confirmed_at=1000.0), SILENCE_SECONDS + 1, "silent for 6 s"),
    ],
)
async def test_a_pod_is_ready_when_every_worker_is_synced_and_fresh(
    http: httpx.AsyncClient,
    fleet: Fleet,
    clock: Clock,
    second: Report | None,
    passed: float,
    reason: str | None,
) -> None:
    """One worker that cannot answer is enough to be taken out, and the answer says which and why."""
    if second:
        fleet.workers[1].take(second)
    clock.now += passed
    fleet.workers[0].take(Report(confirmed_at=1000.0))

    answer = await http.get("/readyz")

    assert answer.status_code == (503 if reason else 200)
    assert answer.json()["ready"] is (reason is None)
    assert list(answer.json()["reasons"]) == (["1"] if reason else [])
    assert reason is None or reason in answer.json()["reasons"]["1"]


async def test_a_draining_pod_is_not_ready(http: httpx.AsyncClient, fleet: Fleet) -> None:
    """The edge learns that it leaves while it still answers."""
    for worker in fleet.workers:
        worker.take(Report(confirmed_at=1000.0))
    fleet.draining = True

    assert (await http.get("/readyz")).json()["reasons"] == {"pod": "The pod is shutting down."}


async def test_last_use_is_served_by_key_id(http: httpx.AsyncClient, fleet: Fleet) -> None:
    """The operator asks for what is new since it last asked."""
    used = datetime.now(UTC).replace(microsecond=0)
    fleet.last_use.merge({"aaaaaaaaaaaa": used.timestamp()})
    fleet.last_use.merge({"bbbbbbbbbbbb": used.timestamp() - 100})
    stamp = used.isoformat().replace("+00:00", "Z")

    everything = (await http.get("/last-used")).json()["lastUsed"]
    recent = (await http.get("/last-used", params={"since": stamp})).json()["lastUsed"]

    assert set(everything) == {"aaaaaaaaaaaa", "bbbbbbbbbbbb"}
    assert recent == {"aaaaaaaaaaaa": stamp}


async def test_uses_are_counted_over_workers_since_a_time_that_is_told(
    http: httpx.AsyncClient, fleet: Fleet
) -> None:
    """Of the keys that the answer is about; the time tells whether two answers may be compared."""
    fleet.last_use.merge({"aaaaaaaaaaaa": datetime.now(UTC).timestamp()})
    for uses in ({"aaaaaaaaaaaa": 2}, {"aaaaaaaaaaaa": 3, "bbbbbbbbbbbb": 1}):
        fleet.uses.add(uses)

    answer = (await http.get("/last-used")).json()

    assert (answer["uses"], answer["allUses"]) == ({"aaaaaaaaaaaa": 5}, False)
    assert datetime.fromisoformat(answer["countingSince"]) == fleet.uses.counting_since


async def test_who_begins_to_count_is_told_the_counts_of_all_keys(
    http: httpx.AsyncClient, fleet: Fleet
) -> None:
    """Also of those whose last use is forgotten; their next one would look like all of them."""
    fleet.uses.add({"aaaaaaaaaaaa": 3, "bbbbbbbbbbbb": 1})

    answer = (await http.get("/last-used", params={"uses": "all"})).json()

    assert answer["lastUsed"] == {}
    assert (answer["uses"], answer["allUses"]) == ({"aaaaaaaaaaaa": 3, "bbbbbbbbbbbb": 1}, True)


async def test_metrics_are_served_in_prometheus_format(http: httpx.AsyncClient) -> None:
    """With the supervisor's own process beside the workers' numbers."""
    answer = await http.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain")
    assert "private_llm_auth_decisions_total" in answer.text
    assert "process_resident_memory_bytes" in answer.text


async def test_the_admin_port_decides_nothing(http: httpx.AsyncClient) -> None:
    """The verify path lives on the other port only."""
    assert (await http.get("/auth/verify")).status_code == 404


def test_last_use_keeps_the_latest_time_of_all_workers() -> None:
    """Reports of two workers may arrive in any order."""
    last_use = KeyTimes(lambda: 1000.0)
    last_use.merge({"key": 990.0})
    last_use.merge({"key": 980.0})

    assert last_use.since(None) == {"key": datetime.fromtimestamp(990.0, UTC)}


def test_last_use_forgets_after_an_hour() -> None:
    """By then the operator has long written it down."""
    clock = Clock()
    last_use = KeyTimes(clock)
    last_use.merge({"key": clock.now})
    clock.now += fleet_module.REMEMBER_SECONDS + 1

    assert last_use.since(None) == {}


def test_last_use_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys that were reported least recently go first."""
    monkeypatch.setattr(fleet_module, "MOST_KEYS", 2)
    last_use = KeyTimes(lambda: 1000.0)
    for key in ("a", "b", "a", "c"):
        last_use.merge({key: 999.0})

    assert list(last_use.since(None)) == ["a", "c"]


def test_counts_of_uses_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten begins at nothing when it is used again."""
    monkeypatch.setattr(fleet_module, "MOST_KEYS", 2)
    uses = KeyUses(lambda: 1000.0)
    for key in ("a", "b", "a", "c"):
        uses.add({key: 1})

    assert uses.of(("a", "b", "c")) == {"a": 2, "b": 0, "c": 1}


def test_an_end_is_told_once_every_worker_has_had_time_to_notice() -> None:
    """The latest worker counts; before all have reported nobody knows which that is."""
    clock = Clock()
    ends = KeyTimes(clock)
    ends.merge({"key": clock.now - 1.0})
    ends.merge({"key": clock.now - 0.5})

    assert ends.settled(None) == {}
    clock.now += SILENCE_SECONDS
    assert ends.settled(None) == {"key": datetime.fromtimestamp(999.5, UTC)}
