"""SIGKILL of what stands between a workspace and the service cluster, while a customer orders there."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaos_customers import Customers, until_told_apart
from chaos_fault import Fault, Stage
from chaos_parts import Parts
from chaos_sync import STEADY, Promises, Tenant, Workspace, move_in, move_out
from eventually import eventually
from privatellm.kube import KubeClient
from privatellm_local.controlplane import kcp_apiserver
from privatellm_local.platform.facts import SYNC_AGENT
from privatellm_local.workspaces import components
from privatellm_local.workspaces.names import CUSTOMER_KUBECONFIG

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

REPLACED_SECONDS = 120.0
ANSWER_SECONDS = 5.0
"""How long the customer waits for a kcp that may be gone."""


@pytest.fixture(scope="module")
def customer_kubeconfig(parts: Parts) -> Path:
    """What the customer of the workspace has."""
    found = parts.paths.kubeconfig(CUSTOMER_KUBECONFIG)
    assert found.exists(), "The environment must be started with --kcp."
    return found


@pytest.fixture(scope="module")
def promises(customer_kubeconfig: Path, kubeconfig: Path) -> Iterator[Promises]:
    """What the customer has before the first fault; all of it ends behind the last one."""

    async def moved_in() -> Promises:
        async with await KubeClient.connect(customer_kubeconfig) as above:
            return await move_in(above)

    async def moved_out(promises: Promises) -> None:
        async with (
            await KubeClient.connect(customer_kubeconfig) as above,
            await KubeClient.connect(kubeconfig) as below,
        ):
            await move_out(Workspace(Tenant(above, promises), below))

    found = asyncio.run(moved_in())
    yield found
    asyncio.run(moved_out(found))


@pytest.fixture
async def workspace(
    customer_kubeconfig: Path, client: KubeClient, promises: Promises
) -> AsyncIterator[Workspace]:
    """The workspace and the cluster below it."""
    connecting = KubeClient.connect(customer_kubeconfig, request_timeout_seconds=ANSWER_SECONDS)
    async with await connecting as above:
        yield Workspace(Tenant(above, promises), client)


@pytest.fixture
async def stage(stage: Stage, customers: Customers, promises: Promises) -> Stage:
    """Where faults are played, with one more customer: the workspace's, who must not notice them."""
    dead = [key for key in promises.dead if key not in customers.dead]
    everybody = replace(
        customers,
        live=(*customers.live, promises.live[STEADY]),
        dead=(*customers.dead, *dead),
    )
    await until_told_apart(everybody)
    return Stage(stage.client, stage.parts, everybody, stage.report)


async def test_a_killed_sync_agent_loses_nothing_of_an_order(
    stage: Stage, workspace: Workspace
) -> None:
    """Keys go on working; what was ordered and ended meanwhile is carried by the next process."""
    async with stage.fault("sync agent: kill -9") as fault, workspace.ordering(fault):
        agent = _agent(stage.parts)
        assert agent is not None
        fault.begins()
        os.kill(agent, signal.SIGKILL)
        await _until_replaced(fault, stage.parts, {SYNC_AGENT: agent})
    assert fault.seen().refused == {}


async def test_a_killed_kcp_loses_nothing_of_an_order(stage: Stage, workspace: Workspace) -> None:
    """Both of its processes die; the agent finds its way back, and disappearance is never a deletion."""
    async with (
        stage.fault("kcp and the API server behind it: kill -9") as fault,
        workspace.ordering(fault),
    ):
        fault.begins()
        before = {part: stage.parts.hit(part) for part in (components.NAME, kcp_apiserver.NAME)}
        await _until_replaced(fault, stage.parts, before)
    assert fault.seen().refused == {}


async def _until_replaced(fault: Fault, parts: Parts, before: dict[str, int]) -> None:
    """Wait until each of these parts has another process."""

    async def replaced() -> bool:
        now = {part: _agent(parts) if part == SYNC_AGENT else parts.pid(part) for part in before}
        return all(now[part] not in (None, pid) for part, pid in before.items())

    await eventually(replaced, within=REPLACED_SECONDS, what=f"another {' and '.join(before)}")
    fault.figures["another process"] = fault.age


def _agent(parts: Parts) -> int | None:
    found = parts.leaders(SYNC_AGENT)
    return found[0].pid if found else None
