"""The troubles that alerts are about.

Each alert has one case or more: a world in which it must fire, and when, and one that is nearly the same
in which it must not, at no moment. How long troubles last follows from the programs: a feed waits five
seconds at most after a failure, a worker is started again at most half a minute after its end.
"""

import math
from dataclasses import dataclass
from typing import Final

from alerts_series import (
    SCRAPE_SECONDS,
    Course,
    Series,
    Target,
    counting,
    steady,
    stepping,
    sync_agent_pod,
    turning,
)
from alerts_well import AGENT, CHAT, EDGES, LEADER, NAN, PUBLISHED, STANDBY, WORKERS
from chart_helm import NAMESPACE
from privatellm.api.llm_instance import InstancePhase
from privatellm.telemetry.families import Family, authserver, operator, sync_agent
from privatellm.telemetry.tracing import SpanResult
from privatellm_operator.fetcher.client import READ_TIMEOUT_SECONDS
from privatellm_operator.fetcher.request import DEFAULT_RETRIES
from privatellm_operator.fetcher.retry import RetryPolicy

FIRST: Final = EDGES[0]
FIRST_POD: Final = {"pod": "private-llm-authserver-1"}
OTHER_AGENT: Final = sync_agent_pod(NAMESPACE, 2)
CRASH_BACKOFF_SECONDS: Final = 300.0
"""How long the kubelet waits at most before it starts a failing container again."""


def _longest_fetch_seconds() -> float:
    """Return how long a fetcher tries a source that is silent, with the least luck in its delays."""
    policy = RetryPolicy(DEFAULT_RETRIES)
    delays = (policy.delay(failure, 1.0, None) for failure in range(1, DEFAULT_RETRIES + 1))
    return (DEFAULT_RETRIES + 1) * READ_TIMEOUT_SECONDS + sum(delays)


SILENT_FETCH_MINUTES: Final = (CRASH_BACKOFF_SECONDS + _longest_fetch_seconds()) / 60
"""From one failure of a fetch to the next where a source takes connections and says nothing."""


def _seen(minute: float) -> float:
    """Return the minute of the first scrape that sees what happens at one."""
    scrapes = 60 / SCRAPE_SECONDS
    return math.ceil(minute * scrapes) / scrapes


@dataclass(frozen=True, slots=True)
class Case:
    """What an alert is for.

    Attributes:
        alert: Its name.
        what: The trouble in a few words.
        trouble: What is other than where all is well.
        told_after: Minutes from the beginning of the trouble until the alert fires.
        near: What is other in the world in which it must not fire.
        about: The labels by which the alert says what it is about.
    """

    alert: str
    what: str
    trouble: tuple[Series, ...]
    told_after: float
    near: tuple[Series, ...]
    about: tuple[dict[str, str], ...] = ({},)

    @property
    def name(self) -> str:
        """The case in one line."""
        return f"{self.alert}: {self.what}"


def _up(course: Course, *places: tuple[int, str]) -> tuple[Series, ...]:
    """Return whether workers run, by the index of the pod and the worker's number."""
    return tuple(
        EDGES[pod].exposes(authserver.WORKER_UP, course, worker=worker) for pod, worker in places
    )


def _decisions(reason: str, course: Course) -> tuple[Series, ...]:
    return tuple(edge.exposes(authserver.DECISIONS, course, reason=reason) for edge in EDGES)


def _age(course: Course, worker: str = "0") -> Series:
    return FIRST.exposes(authserver.INDEX_AGE, course, worker=worker)


def _rejected(course: Course) -> tuple[Series, ...]:
    return tuple(
        edge.exposes(authserver.REJECTED, course, worker=worker)
        for edge in EDGES
        for worker in WORKERS
    )


def _failing_passes(success: float, retry: float) -> tuple[Series, ...]:
    """Return the passes over a kind; the series of a result begins with its first pass."""

    def refused(minute: float) -> float | None:
        return minute * retry + 1 if minute >= 0 else None

    return (
        LEADER.exposes(
            operator.PASSES, counting(60, success), kind="LLMInstance", result="success"
        ),
        LEADER.exposes(operator.PASSES, refused, kind="LLMInstance", result="retry"),
    )


def _slow_passes(seconds: float) -> tuple[Series, ...]:
    often = {0.03: counting(60, 58), seconds: counting(0, 2)}
    return LEADER.observes(operator.PASS_SECONDS, often, kind="LLMInstance")


def _revocations(seconds: float) -> tuple[Series, ...]:
    return LEADER.observes(operator.REVOCATION_LAG, {0.05: counting(1), seconds: stepping(0)})


def _phase(phase: InstancePhase, minutes: float = 120) -> tuple[Series, ...]:
    return (LEADER.exposes(operator.INSTANCES, turning(0, 1, minutes), phase=phase.value),)


def _fetch_failures(*minutes: float) -> tuple[Series, ...]:
    return (LEADER.exposes(operator.FETCHES, stepping(*minutes, before=7), result="failed"),)


def _restarts(up: Course, restarts: Course) -> tuple[Series, ...]:
    restarted = FIRST.exposes(authserver.WORKER_RESTARTS, restarts, worker="1")
    return (*_up(up, (0, "1")), restarted)


def _crash_loop(minute: float) -> float:
    """Run at every second scrape: started again at most 30 seconds after each end."""
    return 1.0 if minute < 0 or int(minute * 2) % 2 else 0.0


def _lag(seconds: float) -> tuple[Series, ...]:
    return AGENT.observes(sync_agent.LAG, {0.2: counting(10), seconds: counting(0, 1)}, **PUBLISHED)


def _spans(pod: Target, family: Family, result: SpanResult, course: Course) -> tuple[Series, ...]:
    return (pod.exposes(family, course, result=result.value),)


ALL_WORKERS: Final = tuple((pod, worker) for pod in (0, 1) for worker in WORKERS)

EDGE_CASES: Final = (
    Case(
        "PrivateLLMAuthIndexStale",
        "no word from the API server; found broken in time",
        (_age(lambda minute: minute * 60 + 10 if minute >= 0 else 10),),
        0.5,
        (_age(turning(10, 25)),),
        (FIRST_POD,),
    ),
    Case(
        "PrivateLLMEdgeClosed",
        "refused because the index is old; because the key is",
        (FIRST.exposes(authserver.DECISIONS, counting(0, 2), reason="index_not_fresh"),),
        0.5,
        (FIRST.exposes(authserver.DECISIONS, counting(0, 2), reason="expired_api_key"),),
        (FIRST_POD,),
    ),
    Case(
        "PrivateLLMAuthIndexMissing",
        "a worker that runs has no age; one that does not run has none either",
        (_age(turning(10, None)),),
        2,
        (_age(turning(10, None)), *_up(turning(1, 0), (0, "0"))),
        (FIRST_POD,),
    ),
    Case(
        "PrivateLLMAuthGone",
        "all pods are gone; all workers but one",
        _up(turning(1, None), *ALL_WORKERS),
        2,
        _up(turning(1, None), *ALL_WORKERS[1:]),
    ),
    Case(
        "PrivateLLMAuthGone",
        "no worker runs; none for less than two minutes",
        _up(turning(1, 0), *ALL_WORKERS),
        2,
        _up(turning(1, 0, minutes=2), *ALL_WORKERS),
    ),
    Case(
        "PrivateLLMClockSkewed",
        "a worker's clock is behind; as far as may be",
        (FIRST.exposes(authserver.CLOCK_SKEW, turning(0, -5.1), worker="1"),),
        5,
        (FIRST.exposes(authserver.CLOCK_SKEW, turning(0, -5), worker="1"),),
        (FIRST_POD,),
    ),
    Case(
        "PrivateLLMClockSkewed",
        "the operator's clock is ahead; not known",
        (LEADER.exposes(operator.CLOCK_SKEW, turning(0, 5.1)),),
        5,
        (LEADER.exposes(operator.CLOCK_SKEW, turning(0, NAN)),),
        ({"pod": "private-llm-operator-1"},),
    ),
    Case(
        "PrivateLLMAuthWorkerDown",
        "a worker does not come up; comes up in time",
        _up(turning(1, 0), (0, "1")),
        5,
        _up(turning(1, 0, minutes=5), (0, "1")),
        (FIRST_POD | {"worker": "1"},),
    ),
    Case(
        "PrivateLLMAuthWorkerDown",
        "a worker ends again and again; three times",
        _restarts(_crash_loop, counting(0, 1)),
        9,
        _restarts(steady(1), stepping(0, 1, 2, before=4)),
        (FIRST_POD | {"worker": "1"},),
    ),
    Case(
        "PrivateLLMAuthWatchFails",
        "the API server refuses; ends a watch now and then",
        (FIRST.exposes(authserver.WATCH_FAILURES, counting(0, 16)),),
        14,
        (FIRST.exposes(authserver.WATCH_FAILURES, counting(0, 4)),),
        (FIRST_POD,),
    ),
    Case(
        "PrivateLLMForeignVerifiers",
        "one Secret is not trusted; for less than five minutes",
        _rejected(turning(0, 1)),
        5,
        _rejected(turning(0, 1, minutes=5)),
    ),
    Case(
        "PrivateLLMKeysGuessed",
        "60 wrong keys a second at both pods; 19",
        _decisions("invalid_api_key", counting(60, 1800)),
        11.5,
        _decisions("invalid_api_key", counting(60, 570)),
    ),
)

OPERATOR_CASES: Final = (
    Case(
        "PrivateLLMNobodyLeads",
        "the leader is gone and nobody follows; the other leads",
        (LEADER.exposes(operator.LEADING, turning(1, None)),),
        5,
        (
            LEADER.exposes(operator.LEADING, turning(1, None)),
            STANDBY.exposes(operator.LEADING, turning(0, 1)),
        ),
    ),
    Case(
        "PrivateLLMNobodyLeads",
        "there is no operator; for less than five minutes",
        tuple(pod.exposes(operator.LEADING, turning(1, None)) for pod in (LEADER, STANDBY)),
        5,
        tuple(pod.exposes(operator.LEADING, turning(1, None, 5)) for pod in (LEADER, STANDBY)),
    ),
    Case(
        "PrivateLLMPassesFail",
        "a third of the passes; a sixth",
        _failing_passes(40, 20),
        21,
        _failing_passes(50, 10),
        ({"kind": "LLMInstance"},),
    ),
    Case(
        "PrivateLLMPassesFail",
        "every pass over one kind; none",
        _failing_passes(0, 2),
        23.5,
        _failing_passes(2, 0),
        ({"kind": "LLMInstance"},),
    ),
    Case(
        "PrivateLLMQueueGrows",
        "101 objects wait; 100 do",
        (LEADER.exposes(operator.QUEUE_DEPTH, turning(0, 101)),),
        15,
        (LEADER.exposes(operator.QUEUE_DEPTH, turning(0, 100)),),
    ),
    Case(
        "PrivateLLMPassesSlow",
        "three in a hundred take 7 seconds; take 4",
        _slow_passes(7),
        18,
        _slow_passes(4),
        ({"kind": "LLMInstance"},),
    ),
    Case(
        "PrivateLLMObjectWaits",
        "one waits on; has its turn after seven minutes",
        (LEADER.exposes(operator.QUEUE_OLDEST, lambda minute: max(minute * 60, 0)),),
        7.5,
        (
            LEADER.exposes(
                operator.QUEUE_OLDEST, lambda minute: minute * 60 if 0 < minute <= 7 else 0
            ),
        ),
    ),
    Case(
        "PrivateLLMRevocationSlow",
        "one key of sixteen worked on for 8 seconds; for 4",
        _revocations(8),
        5,
        _revocations(4),
    ),
)

INSTANCE_CASES: Final = (
    Case(
        "PrivateLLMInstancesFail",
        "one has Failed; for less than half an hour",
        _phase(InstancePhase.FAILED),
        30,
        _phase(InstancePhase.FAILED, minutes=30),
    ),
    Case(
        "PrivateLLMInstancesDegraded",
        "one is Degraded; for less than half an hour",
        _phase(InstancePhase.DEGRADED),
        30,
        _phase(InstancePhase.DEGRADED, minutes=30),
    ),
    Case(
        "PrivateLLMFetchesFail",
        "one pod tries again every five minutes; gives up after three attempts",
        _fetch_failures(*range(0, 120, 5)),
        25,
        _fetch_failures(0, 5, 10),
    ),
    Case(
        "PrivateLLMFetchesFail",
        "one pod asks a source that is silent; three pods did so once",
        _fetch_failures(*(turn * SILENT_FETCH_MINUTES for turn in range(9))),
        _seen(3 * SILENT_FETCH_MINUTES) + 10,
        _fetch_failures(*(turn * SILENT_FETCH_MINUTES for turn in range(3))),
    ),
    Case(
        "PrivateLLMRequestsWait",
        "11 requests wait; 10 do",
        (LEADER.exposes(operator.MODEL_DEFERRED, turning(0, 11), **CHAT),),
        15,
        (LEADER.exposes(operator.MODEL_DEFERRED, turning(0, 10), **CHAT),),
        (CHAT,),
    ),
    Case(
        "PrivateLLMModelServersSilent",
        "one of two does not answer; is not ready either",
        (LEADER.exposes(operator.MODEL_SCRAPED, turning(2, 1), **CHAT),),
        15,
        (
            LEADER.exposes(operator.MODEL_SCRAPED, turning(2, 1), **CHAT),
            LEADER.exposes(operator.READY_REPLICAS, turning(2, 1), **CHAT),
        ),
        (CHAT,),
    ),
)

TRACE_CASES: Final = (
    Case(
        "PrivateLLMSpansLost",
        "the operator's collector is away; was for a moment",
        _spans(LEADER, operator.SPANS, SpanResult.FAILED, counting(0, 10)),
        15.5,
        _spans(LEADER, operator.SPANS, SpanResult.FAILED, stepping(0, 1, 2)),
        ({"pod": "private-llm-operator-1"},),
    ),
    Case(
        "PrivateLLMSpansLost",
        "the check has more spans than its collector takes; than before",
        _spans(FIRST, authserver.SPANS, SpanResult.DROPPED, counting(0, 100)),
        15.5,
        _spans(FIRST, authserver.SPANS, SpanResult.SENT, counting(60, 6000)),
        (FIRST_POD,),
    ),
    Case(
        "PrivateLLMSyncSpansLost",
        "the agent's collector is away; was for a moment",
        _spans(AGENT, sync_agent.SPANS, SpanResult.FAILED, counting(0, 10)),
        15.5,
        _spans(AGENT, sync_agent.SPANS, SpanResult.FAILED, stepping(0, 1, 2)),
        ({"pod": "private-llm-sync-agent-1"},),
    ),
)

SYNC_CASES: Final = (
    Case(
        "PrivateLLMSyncNobodyLeads",
        "the agent is gone; another leads",
        (AGENT.exposes(sync_agent.LEADING, turning(1, None)),),
        5,
        (
            AGENT.exposes(sync_agent.LEADING, turning(1, None)),
            OTHER_AGENT.exposes(sync_agent.LEADING, turning(0, 1)),
        ),
    ),
    Case(
        "PrivateLLMSyncLags",
        "one change of eleven takes 45 seconds; takes 25",
        _lag(45),
        16,
        _lag(25),
        (PUBLISHED,),
    ),
    Case(
        "PrivateLLMSyncObjectsFail",
        "one object; for less than half an hour",
        (AGENT.exposes(sync_agent.FAILING, turning(0, 1), **PUBLISHED),),
        30,
        (AGENT.exposes(sync_agent.FAILING, turning(0, 1, minutes=30), **PUBLISHED),),
        (PUBLISHED,),
    ),
    Case(
        "PrivateLLMSyncOrphans",
        "one copy; for less than an hour",
        (AGENT.exposes(sync_agent.ORPHANS, turning(0, 1), **PUBLISHED),),
        60,
        (AGENT.exposes(sync_agent.ORPHANS, turning(0, 1, minutes=60), **PUBLISHED),),
        (PUBLISHED,),
    ),
)

CASES: Final = (*EDGE_CASES, *OPERATOR_CASES, *INSTANCE_CASES, *TRACE_CASES, *SYNC_CASES)
"""Every alert of the charts has one at least."""
