"""What a leader does with its Lease, from its first look at the world to its loss.

The operator runs in the test's own process between a real API server and a relay, with a Lease that lasts
three seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from bare_servers import free_port
from chaos_proxy import Relay
from eventually import eventually
from operator_lead import (
    LEADER,
    LEASE_SECONDS,
    Operator,
    candidacy,
    leading,
    lease_of,
    operator_settings,
    relayed,
)
from operator_passes import children_of, order
from privatellm.api.meta import format_time, parse_time
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.lease import Lease, LeaseLostError
from privatellm_operator import process
from privatellm_operator.process import LEASE_NAME
from privatellm_operator.render.fetcher import FETCHER
from privatellm_operator.settings import Settings

pytestmark = pytest.mark.integration

FETCHES = "private_llm_fetches_total"
LEADING = "private_llm_leading "
PASSES = 'private_llm_reconcile_total{kind="LLMInstance",result="success"}'


@pytest.fixture
def slow_way(
    bare_kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Relay, Path]]:
    """A relay, and the kubeconfig that leads through it; kopf takes the straight way."""
    monkeypatch.setenv("KUBECONFIG", str(bare_kubeconfig))
    # Priming waits for the first lists of watches until the test lets them through.
    monkeypatch.setattr(process, "FIRST_LIST_SECONDS", 60.0)
    with relayed(bare_kubeconfig, tmp_path) as found:
        yield found


@pytest.fixture
def settings(tenant: str, system: str) -> Settings:
    """An operator that serves the tenant."""
    return operator_settings(tenant, system, free_port())


@asynccontextmanager
async def looking(
    settings: Settings, kubeconfig: Path, slow_way: tuple[Relay, Path]
) -> AsyncIterator[Operator]:
    """A leader whose first look at the world lasts for as long as the relay swallows."""
    relay, path = slow_way
    relay.swallow()
    async with leading(settings, client=kubeconfig, watches=path) as operator:
        await operator.until("priming")
        yield operator


async def _until_held(client: KubeClient, system: str, seconds: float) -> None:
    """Wait until one holder has held the Lease for so long."""

    async def held() -> bool:
        lease = await lease_of(client, system)
        began, renewed = (parse_time(lease.get(key)) for key in ("acquireTime", "renewTime"))
        assert lease.get("holderIdentity", LEADER) == LEADER, "somebody else took the Lease"
        return bool(began and renewed and renewed - began > timedelta(seconds=seconds))

    await eventually(held, what="a Lease that is held on")


async def test_a_leader_that_looks_at_a_slow_world_keeps_its_lease(
    client: KubeClient,
    bare_kubeconfig: Path,
    slow_way: tuple[Relay, Path],
    settings: Settings,
) -> None:
    """A first look that takes longer than the Lease lasts; before its end nobody says that it leads."""
    relay, _ = slow_way
    system = settings.pod.namespace
    async with looking(settings, bare_kubeconfig, slow_way) as operator:
        heir = asyncio.create_task(Lease(client, candidacy(system, "heir")).acquire())
        try:
            await _until_held(client, system, 2 * LEASE_SECONDS)
            assert await operator.state() == "priming"
            assert await operator.metric(LEADING) == 0

            relay.heal()
            await operator.until("leading")
            assert await operator.metric(LEADING) == 1
            assert (await lease_of(client, system))["leaseTransitions"] == 1
        finally:
            heir.cancel()


async def test_a_leader_that_loses_its_lease_while_it_looks_ends(
    client: KubeClient,
    bare_kubeconfig: Path,
    slow_way: tuple[Relay, Path],
    settings: Settings,
) -> None:
    """It drops its look at the world, because somebody else leads."""
    system = settings.pod.namespace
    async with looking(settings, bare_kubeconfig, slow_way) as operator:
        stolen = {"spec": {"holderIdentity": "thief"}}
        await client.patch(kinds.LEASE, LEASE_NAME, system, stolen)

        with pytest.raises(LeaseLostError):
            async with asyncio.timeout(20):
                await operator.task

    assert (await lease_of(client, system))["holderIdentity"] == "thief"


async def test_a_leader_that_is_stopped_while_it_looks_hands_over_at_once(
    client: KubeClient,
    bare_kubeconfig: Path,
    slow_way: tuple[Relay, Path],
    settings: Settings,
) -> None:
    """A slow world keeps no process alive, and no candidate waiting."""
    async with looking(settings, bare_kubeconfig, slow_way) as operator:
        operator.process.stop()
        async with asyncio.timeout(20):
            await operator.task

    assert (await lease_of(client, settings.pod.namespace))["holderIdentity"] == ""


async def test_a_leader_that_gets_no_answers_does_not_say_that_it_leads(
    bare_kubeconfig: Path, slow_way: tuple[Relay, Path], settings: Settings
) -> None:
    """Whoever waits for somebody to lead must see that nobody may; it goes on when the answers come."""
    relay, path = slow_way
    async with leading(settings, client=path, watches=bare_kubeconfig) as operator:
        await operator.until("leading")

        relay.swallow()
        await operator.until("lease expired")
        assert await operator.metric(LEADING) == 0
        relay.heal()
        await operator.until("leading")
        assert await operator.metric(LEADING) == 1


async def test_a_leader_that_was_suspended_writes_nothing_before_it_renewed_its_lease(
    client: KubeClient, bare_kubeconfig: Path, slow_way: tuple[Relay, Path], settings: Settings
) -> None:
    """It wakes among its events, and somebody else may have the Lease; the renewal here never comes."""
    tenant = settings.watch.namespaces[0]
    kubeconfig = bare_kubeconfig
    async with leading(
        settings, client=kubeconfig, watches=kubeconfig, renew_every=3600
    ) as operator:
        await operator.until("leading")
        operator.clock.jump(LEASE_SECONDS)
        await client.create(kinds.LLM_INSTANCE, order(tenant))

        async def failed() -> bool:
            line = 'private_llm_reconcile_total{kind="LLMInstance",result="retry"}'
            return await operator.metric(line) > 0

        await eventually(failed, what="a pass that may not write")
        assert await operator.state() == "lease expired"

    assert await children_of(client, tenant) == {}
    instance = await client.get(kinds.LLM_INSTANCE, "chat", tenant)
    assert instance is not None
    assert "status" not in instance


async def test_a_fetch_that_a_leader_counted_is_not_counted_by_the_next_one(
    client: KubeClient,
    bare_kubeconfig: Path,
    slow_way: tuple[Relay, Path],
    tenant: str,
    system: str,
) -> None:
    """The next one stood by already when the fetch ended."""
    straight = partial(leading, client=bare_kubeconfig, watches=bare_kubeconfig)
    settings = operator_settings(tenant, system, free_port())
    async with straight(settings) as first:
        await first.until("leading")
        settings = operator_settings(tenant, system, free_port())
        async with straight(settings, identity="heir") as heir:
            await heir.until("standby")
            await client.create(kinds.LLM_INSTANCE, order(tenant, replicas=1))
            ended = await _run_a_pod_that_fetched(client, tenant)

            async def counted() -> bool:
                return await first.total(FETCHES) == 1 and datetime.now(UTC) > ended

            await eventually(counted, what="a fetch that ended and is counted")
            first.process.stop()
            await heir.until("leading")

            async def looked() -> bool:
                return await heir.metric(PASSES) > 0

            await eventually(looked, what="a pass of the heir")
            assert await heir.total(FETCHES) == 0


async def _run_a_pod_that_fetched(client: KubeClient, tenant: str) -> datetime:
    """Create a pod of the instance, report a fetch that ends now, and return when that is."""

    async def ordered() -> Manifest | None:
        return await client.get(kinds.DEPLOYMENT, "chat-llama", tenant)

    deployment = await eventually(ordered, what="the Deployment")
    assert deployment is not None
    account = {"metadata": {"name": "default", "namespace": tenant}}
    await client.create(
        kinds.SERVICE_ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount"} | account
    )
    template = deployment["spec"]["template"]
    metadata = template["metadata"] | {"name": "chat-llama-1", "namespace": tenant}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    await client.create(kinds.POD, pod)
    # Kubernetes tells whole seconds; the next one is after the start of both operators.
    ended = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    times = {"startedAt": format_time(ended), "finishedAt": format_time(ended)}
    about = {"name": FETCHER, "image": "x", "imageID": "x", "ready": True, "restartCount": 0}
    about["state"] = {"terminated": times | {"exitCode": 0, "message": "{}"}}
    status = {"status": {"initContainerStatuses": [about]}}
    await client.patch(kinds.POD, "chat-llama-1", tenant, status, subresource="status")
    return ended
