"""A release in which all is well, as Prometheus sees it: two pods of each part, and two instances.

How often things happen follows from the programs: a counter is there from the start, or begins with its
first event, as in the program.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from alerts_series import Series, authserver_pod, counting, operator_pod, steady, sync_agent_pod
from chart_helm import NAMESPACE
from privatellm.api.llm_instance import InstancePhase
from privatellm.telemetry.families import authserver, operator, sync_agent
from privatellm.telemetry.families.authserver import ANSWERS
from privatellm.telemetry.tracing import SpanResult

EDGES: Final = (authserver_pod(NAMESPACE, 1), authserver_pod(NAMESPACE, 2))
LEADER: Final = operator_pod(NAMESPACE, 1)
STANDBY: Final = operator_pod(NAMESPACE, 2)
AGENT: Final = sync_agent_pod(NAMESPACE, 1)
WORKERS: Final = ("0", "1")
CHAT: Final = {"llm_namespace": "acme", "llm_instance": "chat"}
DRAFT: Final = {"llm_namespace": "acme", "llm_instance": "draft"}
PUBLISHED: Final = {"resource": "instances"}

NAN: Final = float("nan")


def _edges() -> Iterator[Series]:
    usual = {"allowed": 600.0, "invalid_api_key": 60.0}
    for edge in EDGES:
        for answer in ANSWERS:
            course = counting(usual.get(answer.reason, 0.0))
            yield edge.exposes(authserver.DECISIONS, course, reason=answer.reason)
        yield edge.exposes(authserver.WATCH_FAILURES, steady(2))
        for worker in WORKERS:
            yield edge.exposes(authserver.INDEX_AGE, lambda minute: minute * 60 % 20, worker=worker)
            yield edge.exposes(authserver.CLOCK_SKEW, steady(-0.3), worker=worker)
            yield edge.exposes(authserver.REJECTED, steady(0), worker=worker)
            yield edge.exposes(authserver.WORKER_UP, steady(1), worker=worker)
            yield edge.exposes(authserver.WORKER_RESTARTS, steady(0), worker=worker)


def _operators() -> Iterator[Series]:
    yield LEADER.exposes(operator.LEADING, steady(1))
    yield STANDBY.exposes(operator.LEADING, steady(0))
    yield LEADER.exposes(operator.CLOCK_SKEW, steady(0.4))
    yield STANDBY.exposes(operator.CLOCK_SKEW, steady(NAN))
    for pod in (LEADER, STANDBY):
        yield pod.exposes(operator.QUEUE_DEPTH, steady(0))
        yield pod.exposes(operator.QUEUE_OLDEST, steady(0))
        yield from pod.observes(operator.REVOCATION_LAG, {})
        for result in ("fetched", "present", "failed"):
            yield pod.exposes(operator.FETCHES, steady(0), result=result)
    for kind in ("LLMInstance", "APITokenRequest"):
        yield LEADER.exposes(operator.PASSES, counting(60), kind=kind, result="success")
        yield from LEADER.observes(operator.PASS_SECONDS, {0.03: counting(60)}, kind=kind)
    yield from LEADER.observes(operator.REVOCATION_LAG, {0.05: counting(1)})


def _instances() -> Iterator[Series]:
    for phase in InstancePhase:
        count = 2 if phase is InstancePhase.READY else 0
        yield LEADER.exposes(operator.INSTANCES, steady(count), phase=phase.value)
    for who in (CHAT, DRAFT):
        yield LEADER.exposes(operator.READY_REPLICAS, steady(2), **who)
        yield LEADER.exposes(operator.MODEL_SCRAPED, steady(2), **who)
        yield LEADER.exposes(operator.MODEL_DEFERRED, steady(0), **who)


def _agents() -> Iterator[Series]:
    yield AGENT.exposes(sync_agent.LEADING, steady(1))
    yield AGENT.exposes(sync_agent.FAILING, steady(0), **PUBLISHED)
    yield AGENT.exposes(sync_agent.ORPHANS, steady(0), **PUBLISHED)
    yield from AGENT.observes(sync_agent.LAG, {0.2: counting(10)}, **PUBLISHED)


def _traces() -> Iterator[Series]:
    for pod, family in (
        *((edge, authserver.SPANS) for edge in EDGES),
        *((pod, operator.SPANS) for pod in (LEADER, STANDBY)),
        (AGENT, sync_agent.SPANS),
    ):
        for result in SpanResult:
            course = counting(60) if result is SpanResult.SENT else steady(3)
            yield pod.exposes(family, course, result=result.value)


def over(usual: Iterable[Series], changed: Iterable[Series]) -> tuple[Series, ...]:
    """Return a world with some series changed or added."""
    return tuple({one.selector: one for one in (*usual, *changed)}.values())


WELL: Final = over((), (*_edges(), *_operators(), *_instances(), *_agents(), *_traces()))
"""Everything that the rules ask for, where nobody has to be told of anything."""
