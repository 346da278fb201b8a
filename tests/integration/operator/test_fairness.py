"""One tenant's thousand orders and another tenant's first one, on the operator's real process."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventually import eventually
from operator_bench import TENANT, at_once, furnish, operating, until_equipped
from operator_passes import order
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import wait_for
from token_control_plane import control_plane

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

CROWD = 1_000
LONGEST_DELAY_SECONDS = 2.0


@pytest.fixture
def crowded_kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A control plane of its own, because a thousand instances would slow down every other test."""
    with control_plane(tmp_path) as kubeconfig:
        yield kubeconfig


async def _first_order(client: KubeClient, namespace: str) -> float:
    """Order in an empty namespace and return the seconds until the route exists."""
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.create(kinds.NAMESPACE, manifest)
    started = time.monotonic()
    await client.create(kinds.LLM_INSTANCE, order(namespace))
    async with asyncio.timeout(60):
        await wait_for(
            client, kinds.INGRESS, "chat-llama", namespace, lambda seen: seen is not None
        )
    return time.monotonic() - started


async def test_a_tenant_with_a_thousand_orders_does_not_delay_anothers_first(
    crowded_kubeconfig: Path, tmp_path: Path
) -> None:
    """Namespaces take turns, so a backlog of one is no queue for the other."""
    async with await KubeClient.connect(crowded_kubeconfig) as client:
        await furnish(client)
        async with operating(crowded_kubeconfig, tmp_path) as operator:
            await until_equipped(client)
            alone = await _first_order(client, "alone")

            crowd = (
                client.create(kinds.LLM_INSTANCE, order(TENANT, f"crowd-{number}"))
                for number in range(CROWD)
            )
            ordering = asyncio.create_task(at_once(crowd))

            async def backlog() -> bool:
                return await operator.metric("private_llm_queue_depth") > 100

            await eventually(backlog, within=60, what="a backlog")
            beside = await _first_order(client, "beside")
            left = len((await client.list(kinds.INGRESS, TENANT)).items)
            await ordering

    assert left < CROWD, "the crowd was served before the other tenant came; nothing was tested"
    assert beside - alone < LONGEST_DELAY_SECONDS
