"""What a pass costs does not depend on how many other objects there are; the bench measures it in time."""

import asyncio
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any, cast

import pytest

from operator_objects import NOW, instance_manifest, model, model_manifest, settings
from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm_operator.fetches import ProgressBoard
from privatellm_operator.reconcile.instance.gather import InstanceGatherer
from privatellm_operator.reconcile.model.gather import ModelGatherer
from privatellm_operator.reconcile.restoring import Answers
from privatellm_operator.render.cache import VOLUME
from privatellm_operator.render.source import weights_of
from privatellm_operator.settings import CacheMode, CacheSettings, Settings
from privatellm_operator.world.cache import World
from privatellm_operator.world.routing import keys_of, platform_key

NO_CLIENT = cast("KubeClient", None)
"""Nothing is asked for in a settled world."""

NODE_CACHE = settings(cache=CacheSettings(mode=CacheMode.HOST_PATH))


def inhabited(instances: int, **spec: Any) -> World:
    """Return a world of one model with many users, each with a pod that waits for others."""
    world = World()
    world[kinds.LLM_MODEL].put(model_manifest())
    for number in range(instances):
        name = f"chat-{number}"
        world[kinds.LLM_INSTANCE].put(instance_manifest(name, uid=f"uid-{number}", **spec))
        world[kinds.POD].put(pod(name, weights="other.gguf"))
    return world


def pod(instance: str, *, weights: str, node: str = "node-a", phase: str = "Pending") -> Any:
    """Return a pod that mounts weights from its node's cache."""
    return {
        "metadata": {
            "name": f"{instance}-pod",
            "namespace": "acme",
            "uid": f"uid-of-{instance}",
            "resourceVersion": "1",
            "labels": {labels.LLM_INSTANCE: instance},
        },
        "spec": {
            "nodeName": node,
            "volumes": [{"name": VOLUME, "hostPath": {"path": f"/cache/{weights}"}}],
        },
        "status": {
            "phase": phase,
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-11-30T08:59:00Z",
                }
            ],
        },
    }


def look_at_model(world: World, chosen: Settings = NODE_CACHE) -> Any:
    """Return what a pass over the model gathers."""
    gatherer = ModelGatherer(NO_CLIENT, world, chosen, ProgressBoard())
    return gatherer.gather(model(), NOW)


def look_at_instance(world: World) -> Any:
    """Return what a pass over one instance gathers."""
    gatherer = InstanceGatherer(NO_CLIENT, world, NODE_CACHE, ProgressBoard(), Answers())
    return gatherer.gather("acme", "chat-3", NOW)


async def route(world: World) -> None:
    """Ask whose passes a changed instance means."""
    changed = world[kinds.LLM_INSTANCE].get("acme", "chat-3")
    assert changed is not None
    assert len(list(keys_of(kinds.LLM_INSTANCE, changed, world, platform_key("home")))) == 2


def calls_of(work: Coroutine[Any, Any, Any]) -> int:
    """Count the calls and the steps of generators that it takes to finish."""
    counted = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    loop = asyncio.new_event_loop()
    sys.setprofile(count)
    try:
        loop.run_until_complete(work)
    finally:
        sys.setprofile(None)
        loop.close()
    return counted


@pytest.mark.parametrize("work", [look_at_model, look_at_instance, route])
@pytest.mark.parametrize("replicas", [0, 1])
def test_a_pass_takes_as_many_steps_among_a_thousand_instances_as_among_ten(
    work: Any, replicas: int
) -> None:
    """One more instance costs the same however many there are, though all of them share a model."""
    few, many = inhabited(10, replicas=replicas), inhabited(1000, replicas=replicas)
    calls_of(work(few))
    assert calls_of(work(many)) == calls_of(work(few))


async def test_only_the_pods_that_wait_for_a_models_weights_are_seen() -> None:
    """Not those that serve, that wait for others, or that name an instance of another model."""
    weights = weights_of(model())
    world = inhabited(3)
    world[kinds.LLM_INSTANCE].put(instance_manifest("other", uid="o", model="another"))
    for name, node in (("chat-0", "node-a"), ("other", "node-b"), ("nobody", "node-c")):
        waiting = pod(name, weights=weights, node=node)
        waiting["metadata"] |= {"name": f"{name}-waits", "resourceVersion": "2"}
        world[kinds.POD].put(waiting)
    served = pod("chat-1", weights=weights, node="node-d", phase="Running")
    served["metadata"]["resourceVersion"] = "2"
    served["status"]["initContainerStatuses"] = [
        {"name": "fetch-model", "state": {"terminated": {"exitCode": 0}}}
    ]
    world[kinds.POD].put(served)
    assert set((await look_at_model(world)).waiting) == {"node-a"}


@pytest.mark.parametrize(
    ("users", "is_used", "is_run"),
    [([], False, False), ([0], True, False), ([0, 2], True, True)],
)
async def test_a_model_knows_whether_somebody_names_it_and_wants_a_server(
    users: list[int], is_used: bool, is_run: bool
) -> None:
    """A stopped instance still holds its model."""
    world = World()
    for number, replicas in enumerate(users):
        world[kinds.LLM_INSTANCE].put(
            instance_manifest(f"chat-{number}", uid=f"uid-{number}", replicas=replicas)
        )
    seen = await look_at_model(world)
    assert (seen.is_used, seen.is_run, seen.users) == (is_used, is_run, ())


async def test_a_model_that_is_not_allowed_in_a_namespace_is_not_run_there() -> None:
    """An instance may name what it must not use."""
    gatherer = ModelGatherer(NO_CLIENT, inhabited(2), NODE_CACHE, ProgressBoard())
    assert not (await gatherer.gather(model(allowedNamespaces=["globex"]), NOW)).is_run
