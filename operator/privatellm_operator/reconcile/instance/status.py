"""What an instance says about itself: conditions from what was seen, and the phase from the conditions.

Pure. The reason of a condition that is not true tells whether it is so *yet* (see
:data:`~privatellm_operator.reconcile.instance.reasons.PROGRESS`) or because something is wrong; that is how
the phase can be read off the conditions alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from privatellm import conditions
from privatellm.api.llm_instance import (
    InstanceCondition,
    InstancePhase,
    LLMInstanceStatus,
)
from privatellm.conditions import Condition, ConditionStatus
from privatellm.errors import ForbiddenError, KubernetesError
from privatellm.kube import kinds
from privatellm.names import endpoint_of, slug_of
from privatellm_operator.reconcile.discretion import for_customers
from privatellm_operator.reconcile.instance.causes import Cause, cause_of, has_weights
from privatellm_operator.reconcile.instance.checks import Fault
from privatellm_operator.reconcile.instance.facts import InstanceWorld, Servers
from privatellm_operator.reconcile.instance.reasons import MAY_HEAL, PROGRESS, Reason
from privatellm_operator.reconcile.instance.serving import (
    meanwhile,
    served_model,
    serves_ordered,
)
from privatellm_operator.reconcile.instance.weights import (
    fetched_text,
    fetching_text,
    weights_cause,
)
from privatellm_operator.reconcile.instance.wording import sentence
from privatellm_operator.render.instance import selector_labels
from privatellm_operator.render.middlewares import chain_name
from privatellm_operator.settings import PublicSettings

_DEADLINE = "ProgressDeadlineExceeded"
"""How a Deployment says that its pods did not become ready in time."""

_STAGES: Mapping[str, str] = {
    Reason.FETCH_PENDING: "the fetch of the model has not begun",
    Reason.FETCHING: "the model is being fetched",
    Reason.STARTING: "the model is being loaded",
}
"""What happens before the first answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a pass found out beyond the world.

    Attributes:
        fault: Why the order is not accepted.
        refusal: What the API server said when it refused to store a child; empty when it stored all.
        delay: Why an accepted order has to wait.
    """

    fault: Fault | None = None
    refusal: str = ""
    delay: Fault | None = None


def status_of(world: InstanceWorld, outcome: Outcome, public: PublicSettings) -> LLMInstanceStatus:
    """Return the whole status of an instance that is not being deleted.

    Args:
        world: What is there, after the pass's writes.
        outcome: What the pass found out.
        public: Where customers find the edge.
    """
    instance, servers = world.instance, world.servers
    slug = slug_of(instance.metadata.uid)
    wanted = [_discreet(c, instance.metadata.namespace) for c in _conditions(world, outcome)]
    merged = conditions.merged(
        instance.status.conditions, wanted, generation=instance.metadata.generation, now=world.now
    )
    return LLMInstanceStatus(
        phase=phase_of(merged, deleting=False, replicas=servers.wanted, ready=servers.ready),
        # A wrong order does not break a right one that came before, so a route that is there counts.
        endpoint=endpoint_of(public.scheme, public.host, slug) if _is_routed(world) else None,
        slug=slug,
        replicas=servers.existing,
        ready_replicas=servers.ready,
        ready=f"{servers.ready}/{servers.wanted}",
        selector=",".join(f"{k}={v}" for k, v in sorted(selector_labels(instance).items())),
        model=served_model(world),
        observed_generation=instance.metadata.generation,
        conditions=merged,
    )


def refusal_text(error: KubernetesError | None) -> str:
    """Return what the status says about a refused write; empty when there was none."""
    if error is None:
        return ""
    words = sentence(str(error))
    if isinstance(error, ForbiddenError):
        return (
            f"{words} The platform team can allow it: is the namespace onboarded, and is its quota "
            "large enough?"
        )
    return words


def terminating(world: InstanceWorld) -> LLMInstanceStatus:
    """Return the status of an instance that is being deleted."""
    before = world.instance.status
    over = {InstanceCondition.READY} | (
        set() if _is_routed(world) else {InstanceCondition.ROUTE_PROGRAMMED}
    )
    known = {c.type: c for c in before.conditions} | {c: _ending(c) for c in over}
    wanted = (_ending(c.type) if c.reason in PROGRESS else c for c in known.values())
    merged = conditions.merged(
        before.conditions,
        wanted,
        generation=world.instance.metadata.generation,
        now=world.now,
    )
    endpoint = before.endpoint if _is_routed(world) else None
    return before.model_copy(
        update={"phase": InstancePhase.TERMINATING, "endpoint": endpoint, "conditions": merged}
    )


def phase_of(  # noqa: PLR0911 - a ladder with one rung a phase
    seen: Iterable[Condition], *, deleting: bool, replicas: int, ready: int
) -> InstancePhase:
    """Return the phase: the first rung that fits.

    Args:
        seen: The instance's conditions.
        deleting: Whether it is being deleted.
        replicas: Servers that were ordered.
        ready: Servers that answer.
    """
    known = {condition.type: condition for condition in seen}
    if deleting:
        return InstancePhase.TERMINATING
    if not _is_true(known, InstanceCondition.ACCEPTED):
        return InstancePhase.FAILED
    reason = known[InstanceCondition.READY].reason if InstanceCondition.READY in known else ""
    # Without its route a stopped instance would answer 404, so that is said first.
    if replicas == 0 and reason == Reason.STOPPED:
        return InstancePhase.STOPPED
    if _is_true(known, InstanceCondition.READY):
        return InstancePhase.READY
    # Something is wrong, yet somebody gets answers.
    if ready > 0:
        return InstancePhase.DEGRADED
    if reason in ("", Reason.PENDING):
        return InstancePhase.PENDING
    # What may end without anybody is waited for; only the Deployment's deadline makes it a failure.
    waits = reason in PROGRESS or reason in MAY_HEAL
    return InstancePhase.PROVISIONING if waits else InstancePhase.FAILED


def _conditions(world: InstanceWorld, outcome: Outcome) -> tuple[Condition, ...]:
    servers = world.servers
    cause = weights_cause(world) or (None if servers.settled else _cause(world, servers))
    accepted = _accepted(outcome.fault)
    model = _model_available(world, outcome, accepted, cause)
    route = _route_programmed(world, outcome, accepted)
    return (accepted, model, route, _ready(world, accepted, model, route, cause))


def _cause(world: InstanceWorld, servers: Servers) -> Cause | None:
    """Return what a person has to act upon: in the pods, else in the Deployment itself."""
    found = cause_of(world.pods)
    is_late = _DEADLINE in servers.troubles
    if found is not None:
        return _overdue(found.message, found) if is_late and found.reason in MAY_HEAL else found
    if is_late:
        return _overdue("Look at their logs.")
    if not servers.troubles:
        return None
    words = next(iter(servers.troubles.values()))
    return Cause(Reason.PODS_REFUSED, sentence(f"The pods cannot be created: {words}"))


def _overdue(why: str, found: Cause | None = None) -> Cause:
    text = f"The servers did not become ready in the time they are given. {why}"
    return Cause(Reason.DEADLINE_EXCEEDED, text, of_model=found is not None and found.of_model)


def _accepted(fault: Fault | None) -> Condition:
    if fault is None:
        message = "The order keeps the platform's rules and limits."
        return _true(InstanceCondition.ACCEPTED, Reason.ACCEPTED, message)
    return _false(InstanceCondition.ACCEPTED, fault.reason, fault.message)


def _model_available(  # noqa: PLR0911 - one rung an answer
    world: InstanceWorld, outcome: Outcome, accepted: Condition, cause: Cause | None
) -> Condition:
    kind = InstanceCondition.MODEL_AVAILABLE
    if not accepted.is_true:
        return _false(kind, Reason.NOT_ACCEPTED, "The order is not accepted.")
    if outcome.delay is not None:
        return _false(kind, outcome.delay.reason, outcome.delay.message)
    if cause is not None and cause.of_model:
        return _false(kind, cause.reason, cause.message)
    if (world.servers.ready > 0 and serves_ordered(world)) or has_weights(world.pods):
        return _true(kind, Reason.FETCHED, fetched_text(world))
    if world.servers.wanted == 0:
        message = "No server runs, so the model is not fetched. Set spec.replicas to 1 or more."
        return _false(kind, Reason.STOPPED, message)
    if text := fetching_text(world):
        return _false(kind, Reason.FETCHING, text)
    # Nothing fetches, so what keeps servers from being there keeps the weights from it too.
    if cause is not None:
        return _false(kind, cause.reason, cause.message)
    if outcome.refusal:
        return _false(kind, Reason.WRITE_REFUSED, outcome.refusal)
    return _false(kind, Reason.FETCH_PENDING, "The fetch of the model has not begun yet.")


def _route_programmed(  # noqa: PLR0911 - one rung an answer
    world: InstanceWorld, outcome: Outcome, accepted: Condition
) -> Condition:
    kind = InstanceCondition.ROUTE_PROGRAMMED
    if not accepted.is_true:
        return _false(kind, Reason.NOT_ACCEPTED, "The order is not accepted.")
    if outcome.delay is not None:
        return _false(kind, outcome.delay.reason, outcome.delay.message)
    if outcome.refusal:
        return _false(kind, Reason.WRITE_REFUSED, outcome.refusal)
    if not world.edge.traefik_defined:
        return _false(
            kind,
            Reason.TRAEFIK_MISSING,
            "The cluster does not know Traefik's Middleware, so nothing can be routed safely. Install "
            "Traefik's custom resource definitions (group traefik.io); its Helm chart brings them.",
        )
    chain = chain_name(world.model) if world.model else ""
    if chain not in world.edge.middlewares:
        message = f"The shared middleware {chain} does not exist yet; the operator is creating it."
        return _false(kind, Reason.MIDDLEWARES_MISSING, message)
    if not _is_routed(world):
        return _false(kind, Reason.PENDING, "The route was not written yet.")
    return _true(kind, Reason.PROGRAMMED, "Service, middlewares and Ingress are in place.")


def _ready(  # noqa: PLR0911 - one rung an answer
    world: InstanceWorld,
    accepted: Condition,
    model: Condition,
    route: Condition,
    cause: Cause | None,
) -> Condition:
    kind, servers = InstanceCondition.READY, world.servers
    if not accepted.is_true:
        return _false(kind, Reason.NOT_ACCEPTED, "The order is not accepted.")
    if not route.is_true:
        return _false(kind, route.reason, route.message)
    if servers.wanted == 0:
        message = "The instance is stopped. Set spec.replicas to 1 or more to start it."
        return _false(kind, Reason.STOPPED, message)
    if not servers.applied:
        return _false(kind, Reason.PENDING, "Nothing was applied yet.")
    # A cause outweighs the servers that answer: somebody has to act.
    if cause is not None:
        return _false(kind, cause.reason, f"{cause.message}{meanwhile(world)}")
    count = f"{servers.ready} of {servers.wanted} servers answer"
    if servers.ready == 0:
        reason = Reason.STARTING if model.is_true else model.reason
        return _false(kind, reason, f"No server answers yet; {_STAGES[reason]}.")
    if not servers.settled:
        message = f"{count}; others start or are replaced.{meanwhile(world)}"
        return _true(kind, Reason.ROLLING, message)
    return _true(kind, Reason.READY, f"{count}.")


def _is_routed(world: InstanceWorld) -> bool:
    """Say whether the endpoint leads to the instance."""
    routes = (live for (kind, _), live in world.children.items() if kind is kinds.INGRESS)
    return any(
        world.is_ours(route) and not route["metadata"].get("deletionTimestamp") for route in routes
    )


def _ending(kind: str) -> Condition:
    return _false(kind, Reason.TERMINATING, "The instance is being deleted.")


def _discreet(condition: Condition, namespace: str) -> Condition:
    return condition.model_copy(update={"message": for_customers(condition.message, namespace)})


def _is_true(known: dict[str, Condition], kind: InstanceCondition) -> bool:
    return kind in known and known[kind].is_true


def _true(kind: str, reason: str, message: str) -> Condition:
    return Condition(type=kind, status=ConditionStatus.TRUE, reason=reason, message=message)


def _false(kind: str, reason: str, message: str) -> Condition:
    return Condition(type=kind, status=ConditionStatus.FALSE, reason=reason, message=message)
