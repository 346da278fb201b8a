"""What a list that is refused changes about the others."""

from collections.abc import Mapping
from typing import Any

import pytest
from typing_extensions import override

from operator_objects import instance_manifest
from privatellm.errors import ForbiddenError, NotFoundError
from privatellm.kube import KubeClient, Listing, kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.world.cache import World
from privatellm_operator.world.sync import refresh

INSTANCE = instance_manifest()
REFUSED = ForbiddenError("services is forbidden", status=403, reason="Forbidden")
UNKNOWN = NotFoundError("the server could not find the resource", status=404, reason="NotFound")


class Cluster(KubeClient):
    """Lists one instance in `acme`, refuses what it is told to refuse, and remembers what was asked."""

    def __init__(self, refusals: Mapping[tuple[Kind, str | None], Exception]) -> None:
        # It opens no connection, so there is nothing to begin or to close.
        self.asked: set[tuple[Kind, str | None]] = set()
        self._refusals = refusals

    @override
    async def list(self, kind: Kind, namespace: str | None = None, **_: Any) -> Listing:
        """Answer without a cluster."""
        self.asked.add((kind, namespace))
        if (kind, namespace) in self._refusals:
            raise self._refusals[kind, namespace]
        return Listing((INSTANCE,) if kind is kinds.LLM_INSTANCE else (), "10")


async def test_orders_are_listed_everywhere_and_their_children_where_they_are_served() -> None:
    """So that a namespace whose bindings went before can still be let go."""
    cluster = Cluster({})

    changed = await refresh(cluster, World(served=["acme", "beta"]), ["acme", "beta"])

    assert changed == ((kinds.LLM_INSTANCE, INSTANCE),)
    assert {namespace for kind, namespace in cluster.asked if kind is kinds.SERVICE} == {
        *("acme", "beta")
    }
    orders = {kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST, kinds.LLM_MODEL}
    assert {place for place in cluster.asked if place[0] in orders} == {(o, None) for o in orders}


@pytest.mark.parametrize("refusal", [REFUSED, UNKNOWN], ids=["forbidden", "undefined"])
async def test_a_namespace_that_may_not_be_looked_into_hides_no_other(refusal: Exception) -> None:
    """What was known of it stays, because nothing was said about it."""
    world = World()
    service = {
        "metadata": {"name": "chat-llama", "namespace": "beta", "resourceVersion": "5", "uid": "s"}
    }
    world.observe(kinds.SERVICE, "ADDED", service)

    await refresh(Cluster({(kinds.SERVICE, "beta"): refusal}), world, ["acme", "beta"])

    assert world[kinds.SERVICE].all() == (service,)
    assert world[kinds.LLM_INSTANCE].all() != ()


async def test_an_operator_that_may_look_nowhere_says_so() -> None:
    """It would decide about a picture that is empty."""
    with pytest.raises(ForbiddenError):
        await refresh(Cluster({(kinds.SERVICE, None): REFUSED}), World(), [None])
