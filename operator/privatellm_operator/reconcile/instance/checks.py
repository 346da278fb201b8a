"""The policy: what an order must fulfil, as a list that can be read on one screen.

A check looks at what was gathered and returns a fault or nothing. The first fault counts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from privatellm.api.llm_instance import InstanceCondition
from privatellm.conditions import ConditionStatus, find
from privatellm_operator.reconcile.instance.facts import ChildName, InstanceWorld
from privatellm_operator.reconcile.instance.reasons import Reason
from privatellm_operator.reconcile.instance.serving import deployed_model
from privatellm_operator.reconcile.instance.wording import sentence
from privatellm_operator.settings import CapSettings


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an order is not accepted, or has to wait.

    Attributes:
        reason: For machines.
        message: The rule, what we got and what to do.
    """

    reason: Reason
    message: str


Check = Callable[[InstanceWorld, CapSettings], Fault | None]


def first_fault(world: InstanceWorld, caps: CapSettings) -> Fault | None:
    """Return the first thing that is wrong with an order."""
    return next((fault for check in CHECKS if (fault := check(world, caps))), None)


def cluster_ref_is_not_set(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """A cluster of the customer's own cannot be used yet; an empty reference means none."""
    reference = world.instance.spec.cluster_ref
    if reference is None or not reference.kubeconfig_secret_name:
        return None
    return Fault(
        Reason.CLUSTER_REF_NOT_SUPPORTED,
        "spec.clusterRef is not supported: instances run in the platform's cluster. Remove it.",
    )


def model_is_known(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """The catalogue must have the model; no other one is served in its place."""
    if world.model is not None or world.model_fault:
        return None
    return Fault(
        Reason.UNKNOWN_MODEL,
        f"The catalogue has no model {world.instance.spec.model!r}. Choose one that "
        "`kubectl get llmmodels` lists, or ask the platform team to add it.",
    )


def model_is_valid(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """A broken catalogue entry cannot be served."""
    if not world.model_fault:
        return None
    return Fault(
        Reason.INVALID_MODEL,
        sentence(
            f"The catalogue's entry cannot be used, tell the platform team: {world.model_fault}"
        ),
    )


def model_is_allowed(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """A model may be reserved for some namespaces."""
    namespace = world.instance.metadata.namespace
    allowed = world.model.spec.allowed_namespaces if world.model else ()
    if not allowed or namespace in allowed:
        return None
    return Fault(
        Reason.MODEL_NOT_ALLOWED,
        f"The model {world.instance.spec.model!r} may not be used in this namespace. "
        "Choose another one, or ask the platform team to allow it.",
    )


def replicas_are_affordable(world: InstanceWorld, caps: CapSettings) -> Fault | None:
    """The platform bounds the servers of one instance."""
    replicas = world.instance.spec.replicas
    if replicas <= caps.max_replicas:
        return None
    return Fault(
        Reason.TOO_MANY_REPLICAS,
        f"An instance may have up to {caps.max_replicas} replicas; got {replicas}. Lower "
        "spec.replicas.",
    )


def namespace_has_room(world: InstanceWorld, caps: CapSettings) -> Fault | None:
    """The platform bounds the instances of one namespace; the older ones keep their place."""
    if caps.max_instances is None or world.older_siblings < caps.max_instances:
        return None
    return Fault(
        Reason.QUOTA_EXCEEDED,
        f"A namespace may have up to {caps.max_instances} instances and this one has "
        f"{world.older_siblings} older ones. Delete one, or ask the platform team for more.",
    )


def names_are_free(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """An object of another owner is never adopted; one that goes by itself is no conflict."""
    taken = set(world.foreign()) - world.leaving
    if not taken:
        return None
    return Fault(
        Reason.CHILD_CONFLICT,
        "The names of the instance's parts are taken by what does not belong to it: "
        f"{_listed(taken)}. Delete or rename it, or order under another name.",
    )


def claim_is_ours(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """A tenant's own claim is not taken for a cache."""
    if world.claim is None or not world.claim.is_foreign or world.claim.is_leaving:
        return None
    return Fault(
        Reason.CHILD_CONFLICT,
        f"The PersistentVolumeClaim {world.claim.name!r} should keep the weights of this model, but it "
        "does not belong to the platform. Rename or delete it.",
    )


def model_stays(world: InstanceWorld, _caps: CapSettings) -> Fault | None:
    """A model that is being removed keeps its users and takes no new ones."""
    is_going = world.model is not None and world.model.metadata.is_deleting
    is_user = deployed_model(world) == world.instance.spec.model
    if not is_going or is_user or _was_accepted_with_this_model(world):
        return None
    return Fault(
        Reason.MODEL_LEAVES,
        f"The model {world.instance.spec.model!r} is being removed from the catalogue and takes no new "
        "instances. Choose one that `kubectl get llmmodels` lists.",
    )


def _was_accepted_with_this_model(world: InstanceWorld) -> bool:
    """Whether the instance is a user already, even if somebody deleted all that it consists of."""
    status = world.instance.status
    accepted = find(status.conditions, InstanceCondition.ACCEPTED)
    if accepted is None or accepted.status is not ConditionStatus.TRUE:
        return False
    is_unchanged = accepted.observed_generation == world.instance.metadata.generation
    is_same = status.model is not None and status.model.name == world.instance.spec.model
    return is_unchanged or is_same


def predecessor_leaves(world: InstanceWorld) -> Fault | None:
    """Return what an accepted order has to wait for: what an earlier one of its name left behind."""
    going = set(world.foreign()) & world.leaving
    if not going:
        return None
    return Fault(
        Reason.PREDECESSOR_LEAVES,
        f"What had the names of the instance's parts before is still being removed: {_listed(going)}.",
    )


def _listed(names: Iterable[ChildName]) -> str:
    return ", ".join(sorted(f"{kind.name} {name}" for kind, name in names))


CHECKS: tuple[Check, ...] = (
    cluster_ref_is_not_set,  # Never ignored: it would run somewhere else than the customer thinks.
    model_is_known,  # No fallback.
    model_is_valid,
    model_is_allowed,
    model_stays,
    replicas_are_affordable,
    namespace_has_room,
    claim_is_ours,
    names_are_free,  # Last, because it is about the cluster and not about the order.
)
"""The whole policy, in the order in which faults are reported."""
