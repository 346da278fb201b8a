"""One published resource, ready to be synced: all that is decided before the first object is seen."""

from dataclasses import dataclass

from privatellm.kube.kinds import Kind
from privatellm_sync_agent.published.onboarding import Grant
from privatellm_sync_agent.published.related import RelatedResource
from privatellm_sync_agent.published.spec import PublishedResourceSpec
from privatellm_sync_agent.related.guards import Guard


@dataclass(frozen=True, slots=True)
class RelatedRule:
    """A rule for related objects, with the kinds on both sides and the provider's guard."""

    spec: RelatedResource
    guard: Guard
    origin: Kind
    destination: Kind


@dataclass(frozen=True, slots=True)
class Publication:
    """What is synced and how; two equal publications never need a restart of the workers.

    Attributes:
        name: Name of the PublishedResource.
        spec: What the provider wants.
        agent: Name of this agent, part of every mark.
        remote: The kind in the workspaces.
        local: The kind in the service cluster.
        has_status: Whether status is a subresource there.
        has_conditions: Whether the status stores conditions as ``metav1.Condition`` defines them.
        related: The rules for related objects.
        grants: What is granted in each local namespace that the agent makes.
        waits_for_others: Whether a copy outlives the deletion of an object that others' finalizers protect.
    """

    name: str
    spec: PublishedResourceSpec
    agent: str
    remote: Kind
    local: Kind
    has_status: bool
    has_conditions: bool = False
    related: tuple[RelatedRule, ...] = ()
    grants: tuple[Grant, ...] = ()
    waits_for_others: bool = False
