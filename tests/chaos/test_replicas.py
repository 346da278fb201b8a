"""Two replicas of operator and ForwardAuth service: who takes over, how soon, and what it costs."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chaos_fault import Stage
from chaos_parts import AUTHSERVER, OPERATOR, Process
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import Kind
from privatellm_local.platform.facts import SYSTEM_NAMESPACE, TOKEN_NAMESPACE
from privatellm_operator.process import LEASE_NAME
from privatellm_operator.world.watched import CHILDREN, OURS

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

SCALED_SECONDS = 120.0
TAKEN_OVER_SECONDS = 60.0
ENDED_SECONDS = 60.0
ROLLED_SECONDS = 120.0
QUIET_SECONDS = 2.0
LOADED_SECONDS = 10.0


@pytest.fixture(scope="module")
def two_of_each(kubeconfig: Path) -> Iterator[None]:
    """Two replicas of operator and ForwardAuth service, for all tests."""

    async def scale(replicas: int) -> None:
        async with await KubeClient.connect(kubeconfig) as client:
            await asyncio.gather(
                *(_scale(client, name, replicas) for name in (OPERATOR, AUTHSERVER))
            )

    asyncio.run(scale(2))
    yield
    asyncio.run(scale(1))


@pytest.fixture
async def replicas(client: KubeClient, two_of_each: None) -> None:
    """Two replicas of both, all of them ready again after the test before."""
    await asyncio.gather(*(_until_scaled(client, name, 2) for name in (OPERATOR, AUTHSERVER)))


async def test_a_killed_leader_is_replaced_when_its_lease_has_run_out(
    stage: Stage, replicas: None
) -> None:
    """Its container would come back as the leader, so its pod goes with it, as with a lost node."""
    async with stage.fault("operator, the leader of two: kill -9 and its pod gone") as fault:
        leader = await _leader(stage)
        fault.begins()
        os.kill(leader.pid, signal.SIGKILL)
        await stage.client.delete(kinds.POD, leader.pod, SYSTEM_NAMESPACE, grace_period_seconds=0)
        await _until_another_leads(stage.client, leader.pod)
        fault.figures["another leader"] = fault.age
    assert fault.seen().refused == {}


async def test_a_leader_that_stops_hands_over_at_once(stage: Stage, replicas: None) -> None:
    """SIGTERM: it finishes its passes and releases the Lease."""
    async with stage.fault("operator, the leader of two: SIGTERM") as fault:
        leader = await _leader(stage)
        fault.begins()
        await stage.client.delete(kinds.POD, leader.pod, SYSTEM_NAMESPACE)
        await _until_another_leads(stage.client, leader.pod)
        fault.figures["another leader"] = fault.age
    assert fault.seen().refused == {}


async def test_a_leader_that_was_frozen_writes_nothing_when_it_wakes(
    stage: Stage, replicas: None
) -> None:
    """It wakes with an old picture and full of events, finds its time run out, and ends."""
    async with stage.fault(
        "operator, the leader of two: frozen until replaced, then woken"
    ) as fault:
        leader = await _leader(stage)
        fault.begins()
        os.kill(leader.pid, signal.SIGSTOP)
        try:
            await _until_another_leads(stage.client, leader.pod)
            fault.figures["another leader"] = fault.age
            # Something that the old leader has not seen done.
            await stage.order_key(fault, "meanwhile")
            async with fault.churn.at_rest():
                before = await _settled(stage)
                os.kill(leader.pid, signal.SIGCONT)
                fault.is_over()
                await _until_ended(stage, leader)
                assert await _written(stage) == before
        finally:
            # Whatever failed above, nothing stays frozen.
            with suppress(ProcessLookupError):
                os.kill(leader.pid, signal.SIGCONT)
        fault.figures["end of the woken leader after it woke"] = fault.age - (
            fault.ended - fault.began
        )
    assert fault.seen().refused == {}


async def test_one_of_two_checks_that_is_killed_is_hardly_noticed(
    stage: Stage, replicas: None
) -> None:
    """Requests that it was deciding get an error; the next ones go to the other replica."""
    async with stage.fault("ForwardAuth service, one of two: kill -9") as fault:
        victim = stage.parts.leaders(AUTHSERVER)[0]
        before = await _starts(stage.client, victim.pod)
        fault.begins()
        os.kill(victim.pid, signal.SIGKILL)

        async def replaced() -> bool:
            now = {process.pid for process in stage.parts.leaders(AUTHSERVER)}
            is_ready = await _starts(stage.client, victim.pod) > before
            return len(now) == 2 and victim.pid not in now and is_ready

        await eventually(replaced, within=TAKEN_OVER_SECONDS, what="another process that is ready")
        fault.figures["another process that is ready"] = fault.age
        await fault.lasts(LOADED_SECONDS)
        fault.is_over()
    assert sum(fault.seen().refused.values()) <= fault.seen().requests / 10


async def test_checks_that_are_rolled_refuse_nobody(stage: Stage, replicas: None) -> None:
    """Each says that it leaves, goes on answering while the edge takes notice, and finishes."""
    async with stage.fault("ForwardAuth service, two replicas: rolling restart") as fault:
        before = {process.pod for process in stage.parts.leaders(AUTHSERVER)}
        fault.begins()
        await _roll(stage.client, AUTHSERVER)

        async def rolled() -> bool:
            now = {process.pod for process in stage.parts.leaders(AUTHSERVER)}
            return len(now) == 2 and not now & before

        await eventually(rolled, within=ROLLED_SECONDS, what="two new replicas and no old one")
        fault.is_over()
    assert fault.seen().refused == {}


async def _scale(client: KubeClient, name: str, replicas: int) -> None:
    await client.patch(kinds.DEPLOYMENT, name, SYSTEM_NAMESPACE, {"spec": {"replicas": replicas}})
    await _until_scaled(client, name, replicas)


async def _until_scaled(client: KubeClient, name: str, replicas: int) -> None:
    async def scaled() -> bool:
        found = await client.get(kinds.DEPLOYMENT, name, SYSTEM_NAMESPACE) or {}
        pods = await client.list(
            kinds.POD, SYSTEM_NAMESPACE, labels=f"app.kubernetes.io/name={name}"
        )
        ready = found.get("status", {}).get("readyReplicas", 0)
        return bool(ready == replicas == len(pods.items))

    await eventually(scaled, within=SCALED_SECONDS, what=f"{replicas} replicas of {name}")


async def _roll(client: KubeClient, name: str) -> None:
    stamp = {"chaos/rolled": datetime.now(UTC).isoformat()}
    template = {"template": {"metadata": {"annotations": stamp}}}
    await client.patch(kinds.DEPLOYMENT, name, SYSTEM_NAMESPACE, {"spec": template})


async def _starts(client: KubeClient, pod: str) -> int:
    """Return how often a pod's container was started; 0 while it is not ready."""
    found = await client.get(kinds.POD, pod, SYSTEM_NAMESPACE) or {}
    containers = found.get("status", {}).get("containerStatuses") or ()
    return next((1 + each["restartCount"] for each in containers if each["ready"]), 0)


async def _holder(client: KubeClient) -> str:
    lease = await client.get(kinds.LEASE, LEASE_NAME, SYSTEM_NAMESPACE)
    assert lease is not None
    return str(lease["spec"].get("holderIdentity") or "")


async def _leader(stage: Stage) -> Process:
    """Return the process that leads."""

    async def found() -> Process | None:
        holder = await _holder(stage.client)
        return next((p for p in stage.parts.leaders(OPERATOR) if p.pod == holder), None)

    leader = await eventually(found, within=TAKEN_OVER_SECONDS, what="a leader")
    assert leader is not None
    return leader


async def _until_another_leads(client: KubeClient, pod: str) -> None:
    async def another() -> bool:
        return await _holder(client) not in ("", pod)

    await eventually(another, within=TAKEN_OVER_SECONDS, what="another leader")


async def _until_ended(stage: Stage, process: Process) -> None:
    async def ended() -> bool:
        return process not in stage.parts.processes()

    await eventually(ended, within=ENDED_SECONDS, what="the end of the woken leader")


async def _settled(stage: Stage) -> dict[str, str]:
    """Wait until nothing has been written for a while, and return what there is with its version."""
    last, since = await _written(stage), time.monotonic()

    async def quiet() -> bool:
        nonlocal last, since
        before, last = last, await _written(stage)
        if last != before:
            since = time.monotonic()
        return time.monotonic() - since > QUIET_SECONDS

    await eventually(quiet, within=SCALED_SECONDS, what="a settled world")
    return last


async def _written(stage: Stage) -> dict[str, str]:
    """Return the version of everything that an operator writes, but the Lease and last uses."""
    client, found = stage.client, dict[str, str]()
    children: list[tuple[Kind, str | None, str]] = [(w.kind, None, OURS) for w in CHILDREN]
    places: list[tuple[Kind, str | None, str]] = [
        *children,
        (kinds.LLM_INSTANCE, None, ""),
        (kinds.MIDDLEWARE, None, ""),
        (kinds.SECRET, TOKEN_NAMESPACE, ""),
    ]
    for kind, namespace, selector in places:
        for item in (await client.list(kind, namespace, labels=selector)).items:
            found[_name(kind, item)] = item["metadata"]["resourceVersion"]
    for item in (await client.list(kinds.API_TOKEN_REQUEST)).items:
        status = {k: v for k, v in item.get("status", {}).items() if k != "lastUsedAt"}
        found[_name(kinds.API_TOKEN_REQUEST, item)] = str(status)
    return found


def _name(kind: Kind, item: dict[str, Any]) -> str:
    return f"{kind.name} {item['metadata'].get('namespace')}/{item['metadata']['name']}"
