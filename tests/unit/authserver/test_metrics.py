"""What is counted, and what Prometheus is shown."""

from prometheus_client import CollectorRegistry, generate_latest

from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Reason
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.metrics import (
    DURATION_BUCKETS,
    MOST_UNSORTED,
    TIMED_EVERY,
    FleetCollector,
    Meter,
)
from privatellm_authserver.reports import KEYS_PER_REPORT, LONGEST_REPORT, Report, Totals, total

BEGAN = Moment(wall=1.0, uptime=16.0)


def scrape(fleet: Fleet, uptime: float = 100.0) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(FleetCollector(fleet, lambda: uptime))
    lines = generate_latest(registry).decode().splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def test_a_meter_counts_decisions_by_outcome() -> None:
    """Every one of them, told or not."""
    meter = Meter()
    meter.used(b"key")
    meter.take_uses()
    meter.used(b"key")
    meter.denied(Reason.WRONG_INSTANCE, BEGAN)

    decisions = meter.totals().decisions

    assert decisions["allowed"] == meter.allowed_count == 2
    assert decisions["wrong_instance"] == 1
    assert sum(decisions.values()) == 3


def test_a_meter_times_one_decision_in_eight() -> None:
    """The first one of each kind, and in buckets whose bounds are inclusive, as Prometheus has them."""
    meter = Meter(lambda: BEGAN.uptime + 2.0**-10)
    turns = [meter.is_timed() for _ in range(3 * TIMED_EVERY)]
    meter.timed(BEGAN)
    for _ in range(TIMED_EVERY):
        meter.denied(Reason.WRONG_INSTANCE, BEGAN)

    totals = meter.totals()

    assert turns == [True, *[False] * (TIMED_EVERY - 1)] * 3
    assert sum(totals.durations) == totals.durations[DURATION_BUCKETS.index(0.001)] == 2
    assert totals.duration_sum == 2 * 2.0**-10


def test_a_meter_hands_out_the_uses_of_each_key_once() -> None:
    """Only what is new goes into a report, the longest known first and not too much at once."""
    meter = Meter()
    for number in (*range(KEYS_PER_REPORT + 1), 0):
        meter.used(b"%012d" % number)

    first, second, third = (meter.take_uses() for _ in range(3))

    assert len(first) == KEYS_PER_REPORT
    assert first[f"{0:012d}"] == 2
    assert second == {f"{KEYS_PER_REPORT:012d}": 1}
    assert third == {}


def test_uses_that_nobody_takes_do_not_grow_without_end() -> None:
    """A worker whose reports are stuck goes on answering, and holds a number for each key."""
    meter = Meter()
    uses = 3 * MOST_UNSORTED
    held = 0
    for number in range(uses):
        meter.used(b"key %d" % (number % 7))
        if meter.is_timed():
            meter.timed(BEGAN)
        held = max(held, len(meter._unsorted))

    assert held <= MOST_UNSORTED + TIMED_EVERY
    assert meter.allowed_count == uses
    assert sum(meter.take_uses().values()) == uses


def test_the_fullest_report_is_a_line_of_bounded_length() -> None:
    """The supervisor refuses longer ones, so none may be written."""
    ended = {f"{number:012d}": 1_796_000_000.123456 + number for number in range(KEYS_PER_REPORT)}
    report = Report(
        confirmed_at=1.5,
        tokens=100_000,
        uses=dict.fromkeys(ended, 100_000),
        refused_since=ended,
        totals=Meter().totals(),
    )

    line = report.to_line()

    assert len(line) < LONGEST_REPORT
    assert line.endswith(b"\n")
    assert Report.from_line(line) == report


def test_totals_add_up() -> None:
    """Counters of workers with and without numbers."""
    one = Totals(decisions={"allowed": 1}, durations=(1, 2), duration_sum=0.5, relists=1)
    two = Totals(decisions={"allowed": 2, "x": 3}, durations=(1, 0), watch_failures=4)

    summed = total([one, two, Totals()])

    assert summed == Totals(
        decisions={"allowed": 3, "x": 3},
        durations=(2, 2),
        duration_sum=0.5,
        relists=1,
        watch_failures=4,
    )


def test_all_workers_are_shown_together() -> None:
    """Counters are summed, gauges are labelled by worker, and what no worker knows is left out."""
    fleet = Fleet(3)
    meter = Meter(lambda: BEGAN.uptime + 0.000_003)
    for _ in range(TIMED_EVERY):
        meter.used(b"key")
    meter.timed(BEGAN)
    fleet.workers[0].take(
        Report(confirmed_at=90.0, tokens=7, rejected=2, seconds_ahead=-6.5, totals=meter.totals())
    )
    fleet.workers[1].take(Report(totals=meter.totals()))

    shown = scrape(fleet)

    prefix = "private_llm_auth_"
    assert shown[prefix + 'decisions_total{reason="allowed"}'] == 2 * TIMED_EVERY
    assert shown[prefix + 'decisions_total{reason="revoked_api_key"}'] == 0
    assert shown[prefix + 'decision_duration_seconds_bucket{le="2e-06"}'] == 0
    assert shown[prefix + 'decision_duration_seconds_bucket{le="+Inf"}'] == 2
    assert shown[prefix + "decision_duration_seconds_count"] == 2
    assert shown[prefix + 'index_age_seconds{worker="0"}'] == 10
    assert prefix + 'index_age_seconds{worker="1"}' not in shown
    assert shown[prefix + 'clock_skew_seconds{worker="0"}'] == -6.5
    assert prefix + 'clock_skew_seconds{worker="1"}' not in shown
    assert shown[prefix + 'index_tokens{worker="0"}'] == 7
    assert shown[prefix + 'rejected_verifiers{worker="0"}'] == 2
    assert [shown[prefix + f'worker_up{{worker="{n}"}}'] for n in range(3)] == [1, 1, 0]


def test_counters_never_run_backwards_when_a_worker_ends() -> None:
    """What it counted is kept, and the next process starts from zero."""
    fleet = Fleet(1)
    (worker,) = fleet.workers
    worker.take(Report(totals=Totals(decisions={"allowed": 5})))

    worker.ended()
    between = fleet.totals().decisions["allowed"]
    worker.take(Report(totals=Totals(decisions={"allowed": 1})))

    assert (between, fleet.totals().decisions["allowed"]) == (5, 6)
    assert scrape(fleet)['private_llm_auth_worker_restarts_total{worker="0"}'] == 1
