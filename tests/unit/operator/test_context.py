"""Whom a pass wakes when it writes something that others depend on."""

from typing import Any

import pytest
from typing_extensions import override

from operator_objects import instance_manifest, model_manifest, settings
from privatellm.backend_keys import PlatformKey
from privatellm.kube import kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.world.cache import World

INSTANCE = Key(kinds.LLM_INSTANCE, "acme", "chat")
MODEL = Key(kinds.LLM_MODEL, "", "tinyllama")


class NoticingQueue(WorkQueue):
    """Remembers which keys were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Key] = []

    @override
    def add(self, key: Key) -> None:
        """Note the key and do nothing."""
        self.asked.append(key)


@pytest.fixture
async def queue() -> NoticingQueue:
    """A queue inside a running loop."""
    return NoticingQueue()


@pytest.fixture
def context(queue: NoticingQueue) -> ProcessContext:
    """A process that writes nowhere."""
    key = PlatformKey.of("k" * 32)
    return ProcessContext(None, settings(), key, World(), queue)  # type: ignore[arg-type]


def request() -> dict[str, Any]:
    """Return a stored APITokenRequest for the instance ``chat``."""
    metadata = {"name": "key", "namespace": "acme", "uid": "r1", "resourceVersion": "101"}
    return {"metadata": metadata, "spec": {"instanceName": "chat"}}


def test_a_written_status_wakes_the_keys_that_wait_for_the_instance(
    context: ProcessContext, queue: NoticingQueue
) -> None:
    """The echo of the write is no news, so the write itself has to tell them."""
    context.world[kinds.API_TOKEN_REQUEST].put(request())

    context.wrote(kinds.LLM_INSTANCE, instance_manifest(), by=INSTANCE)

    assert queue.asked == [Key(kinds.API_TOKEN_REQUEST, "acme", "key"), MODEL]


def test_a_written_model_wakes_the_instances_that_wait_for_it(
    context: ProcessContext, queue: NoticingQueue
) -> None:
    """An instance may be ordered before its model is in the catalogue."""
    context.world[kinds.LLM_INSTANCE].put(instance_manifest())

    context.wrote(kinds.LLM_MODEL, model_manifest(), by=MODEL)

    assert INSTANCE in queue.asked
    assert MODEL not in queue.asked


def test_an_answer_that_is_known_already_wakes_nobody(
    context: ProcessContext, queue: NoticingQueue
) -> None:
    """Otherwise two objects that depend on each other would never rest."""
    context.world[kinds.API_TOKEN_REQUEST].put(request())
    context.wrote(kinds.LLM_INSTANCE, instance_manifest(), by=INSTANCE)
    queue.asked.clear()

    context.wrote(kinds.LLM_INSTANCE, instance_manifest(), by=INSTANCE)

    assert queue.asked == []
