"""How passes end, as the metrics of a queue that works tell it."""

import asyncio
from collections.abc import Callable

import pytest

from eventually import eventually
from privatellm.errors import ConflictError, ForbiddenError, UnavailableError
from privatellm.kube import kinds
from privatellm.telemetry.families import operator as families
from privatellm_operator.metrics import Metrics
from privatellm_operator.queue import Backoff, Key, WorkQueue
from telemetry_parts import samples

KEY = Key(kinds.LLM_INSTANCE, "acme", "chat")
SELDOM = Backoff(first=3600, longest=3600, longest_for_refusals=3600)


class Ends:
    """A reconciler whose passes all end in one way."""

    def __init__(self, failure: Exception | None) -> None:
        self._failure = failure

    async def reconcile(self, _key: Key) -> None:
        """End so."""
        if self._failure is not None:
            raise self._failure


async def counted(failure: Exception | None) -> dict[str, float]:
    """Return the counts after one pass, by the series' name and its result."""
    metrics = Metrics()
    queue = WorkQueue(backoff=SELDOM, observer=metrics)
    run = asyncio.create_task(queue.run({kinds.LLM_INSTANCE: Ends(failure)}, workers=1))
    queue.add(KEY)

    async def idle() -> bool:
        return queue.is_idle

    await eventually(idle, within=5, what="the end of the pass")
    queue.stop()
    await run
    return {
        f"{sample.name} {sample.labels.get('result', '')}".strip(): sample.value
        for sample in samples(metrics.text())
        if sample.labels.get("kind") == "LLMInstance" and "le" not in sample.labels
    }


@pytest.mark.parametrize(
    ("failure", "result"),
    [
        (lambda: None, "success"),
        (lambda: ConflictError("changed", status=409), "conflict"),
        (lambda: UnavailableError("gone", status=503), "retry"),
        (lambda: ForbiddenError("no", status=403), "retry"),
        (lambda: ValueError("a defect"), "error"),
    ],
    ids=["success", "conflict", "no answer", "refused", "defect"],
)
async def test_a_pass_counts_once_by_how_it_ended(
    failure: Callable[[], Exception | None], result: str
) -> None:
    """With its duration, whatever the end was."""
    found = await counted(failure())

    passes = {name: value for name, value in found.items() if name.startswith(families.PASSES.name)}
    assert passes == {f"{families.PASSES.name} {result}": 1}
    assert found[f"{families.PASS_SECONDS.name}_count"] == 1
