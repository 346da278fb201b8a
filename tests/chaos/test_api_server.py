"""An API server that is away, slow, cut off or out of patience, and a store that has forgotten."""

import os
import signal
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from chaos_customers import QUIET, Key
from chaos_fault import BY_STALENESS, BY_WATCH, Stage
from chaos_parts import AUTHSERVER, OPERATOR, Parts
from chaos_wiring import Relayed, plan_of, relayed
from customer import token_request, until_phase
from eventually import eventually
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import child_name
from privatellm_authserver.feed import WATCH_SECONDS
from privatellm_local.paths import StatePaths
from privatellm_local.pki import store
from privatellm_local.pki.inventory import Authority
from privatellm_local.platform.facts import ADMIN_PORT, SYSTEM_NAMESPACE, TOKEN_NAMESPACE

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

BACK_SECONDS = 120.0
GRACE_SECONDS = 30.0
"""What a pod gets unless it says otherwise, and so the API server of a usual control plane."""

DELAY_SECONDS = 0.4
"""Of every piece of data in each direction: a request takes about a second, a new connection two."""

CUT_SECONDS = 10.0
TRIES = 3
"""So often at least the ForwardAuth service tries to reach the API server while it is cut off."""

AWAY_SECONDS = 75.0
"""Longer than an index may be trusted without a word."""

PATIENCE_SECONDS = 5.0
"""How much longer than its time the client of the ForwardAuth service lets a watch be silent."""

STORM_SECONDS = 12.0
FLOW = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMA = Kind(FLOW, "v1", "FlowSchema", "flowschemas", namespaced=False)
PRIORITY_LEVEL = Kind(
    FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", namespaced=False
)
STORM = "chaos-storm"


@pytest.fixture(scope="module")
def relayed_clients(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relayed]:
    """All clients reach the API server through a relay of ours, for all tests."""
    with relayed(parts, tmp_path_factory.mktemp("relay")) as found:
        yield found


@pytest.fixture
def behind_relay(relayed_clients: Relayed) -> Iterator[Relayed]:
    """The same; it passes everything on afterwards."""
    yield relayed_clients
    relayed_clients.relay.heal()


@pytest.fixture
async def direct(behind_relay: Relayed) -> AsyncIterator[KubeClient]:
    """An administrator who is not cut off."""
    async with await KubeClient.connect(behind_relay.direct) as connected:
        yield connected


async def test_an_api_server_that_restarts_costs_nobody_an_answer(stage: Stage) -> None:
    """As a kubelet does it: told to stop, killed half a minute later, because open watches keep it busy."""
    async with stage.fault(
        "kube-apiserver: restart, SIGTERM and SIGKILL after 30 s", bound=BY_WATCH
    ) as fault:
        fault.begins()
        before = stage.parts.hit("kube-apiserver", signal.SIGTERM)

        async def back() -> bool:
            now = stage.parts.component("kube-apiserver")
            if now == before and fault.age > GRACE_SECONDS:
                os.kill(before, signal.SIGKILL)
            return now not in (None, before)

        await eventually(back, within=BACK_SECONDS, what="another API server")
        fault.figures["another process"] = fault.age
        fault.is_over()
    assert fault.seen().refused == {}


async def test_watches_that_are_cut_miss_nothing(
    stage: Stage, behind_relay: Relayed, direct: KubeClient
) -> None:
    """A key that was ended and a child that was deleted meanwhile are noticed when the watches are back."""
    async with stage.fault("every watch cut, with changes meanwhile", bound=BY_STALENESS) as fault:
        key, failures = await stage.order_key(fault, "forgotten"), await _watch_failures(direct)
        fault.begins()
        behind_relay.relay.part()
        await _change(stage, direct, key)

        async def tried_often() -> bool:
            return await _watch_failures(direct) >= failures + TRIES and fault.age > CUT_SECONDS

        await eventually(tried_often, within=60, what="a feed that has tried several times")
        fault.figures["attempts of the ForwardAuth service meanwhile (number)"] = (
            await _watch_failures(direct) - failures
        )
        behind_relay.relay.heal()
        fault.is_over()
    assert fault.seen().refused == {}
    # Nobody could know better while it lasted, or nothing was cut.
    assert fault.seen().outlived > CUT_SECONDS / 2


async def test_watches_that_are_too_old_begin_with_a_new_list(
    stage: Stage, behind_relay: Relayed, direct: KubeClient
) -> None:
    """Etcd is compacted while they are cut off and both servers restart: 410, and nothing is missed."""
    async with stage.fault(
        "etcd compacted and restarted behind cut watches", bound=BY_STALENESS
    ) as fault:
        key, relists = await stage.order_key(fault, "forgotten"), await _relists(direct)
        fault.begins()
        behind_relay.relay.part()
        await _change(stage, direct, key)
        _compact(stage.parts.paths)
        for part in ("etcd", "kube-apiserver"):
            stage.parts.hit(part)
        await _until_answering(direct)
        behind_relay.relay.heal()
        fault.is_over()
    assert fault.seen().refused == {}
    assert await _relists(direct) > relists


async def test_a_slow_api_server_delays_orders_and_no_answer(
    stage: Stage, behind_relay: Relayed, direct: KubeClient
) -> None:
    """Each request takes a second; an order has its key all the same while that lasts."""
    async with stage.fault("API server slow: 0.4 s each way", bound=BY_WATCH) as fault:
        fault.begins()
        behind_relay.relay.delay(DELAY_SECONDS)
        fault.churn.adopt("slow-order")
        namespace = stage.customers.namespace
        request = token_request(namespace, "slow-order", QUIET)
        await direct.create(kinds.API_TOKEN_REQUEST, request)
        await until_phase(direct, kinds.API_TOKEN_REQUEST, namespace, "slow-order", "Ready")
        fault.figures["a key while it is slow"] = fault.age
        behind_relay.relay.heal()
        fault.is_over()
    assert fault.seen().refused == {}


async def test_a_network_that_swallows_everything_is_noticed_in_time(
    stage: Stage, behind_relay: Relayed, direct: KubeClient
) -> None:
    """No connection breaks and nothing arrives: the watch's own deadline tells, before keys grow stale."""
    async with stage.fault(
        "network to the API server swallows everything", bound=BY_STALENESS
    ) as fault:
        key, failures = await stage.order_key(fault, "forgotten"), await _watch_failures(direct)
        fault.begins()
        behind_relay.relay.swallow()
        await _change(stage, direct, key)

        async def noticed() -> bool:
            return await _watch_failures(direct) > failures

        await eventually(noticed, within=45, what="a watch that was found broken")
        fault.figures["noticed by the ForwardAuth service"] = fault.age
        behind_relay.relay.heal()
        fault.is_over()
    assert fault.seen().refused == {}


async def test_an_api_server_away_for_too_long_closes_the_edge_and_opens_it_again(
    stage: Stage, behind_relay: Relayed
) -> None:
    """Keys work while the index may be trusted; then nobody is let in until there is word again."""
    async with stage.fault("API server out of reach for 75 s", bound=BY_STALENESS) as fault:
        fault.begins()
        behind_relay.relay.swallow()
        await fault.lasts(AWAY_SECONDS)
        behind_relay.relay.heal()
        fault.is_over()
    asked = [result for result in fault.stream.results if result.began >= fault.began]
    closed_after = min(r.began for r in asked if r.is_refusal) - fault.began
    late = [r for r in asked if fault.began + BY_STALENESS < r.began and r.ended < fault.ended]
    assert {r.verdict for r in late} == {"503"}
    assert set(fault.seen().refused) == {"503"}
    # A loss may come when a watch is nearly over, and with it the confirmation that its end is.
    assert closed_after > BY_STALENESS - WATCH_SECONDS - PATIENCE_SECONDS


async def test_a_storm_of_429_is_waited_out(stage: Stage) -> None:
    """The API server itself refuses all requests of operator and ForwardAuth service, and then does not."""
    async with stage.fault(
        "429 for every request of operator and check", bound=BY_STALENESS
    ) as fault:
        storm = ((PRIORITY_LEVEL, _no_seats()), (FLOW_SCHEMA, _everything_of_ours()))
        fault.begins()
        for kind, manifest in storm:
            await stage.client.create(kind, manifest)
        # An operator that starts in the middle of it lists the world first.
        stage.parts.hit(OPERATOR)

        async def rejected() -> bool:
            return await _rejected(stage.client) > 0 and fault.age > STORM_SECONDS

        await eventually(rejected, within=60, what="requests that were answered with 429")
        fault.figures["requests answered with 429 (number)"] = await _rejected(stage.client)
        for kind, _ in reversed(storm):
            await stage.client.delete(kind, STORM)
        fault.is_over()
    assert fault.seen().refused == {}


async def _change(stage: Stage, direct: KubeClient, key: Key) -> None:
    """End a key and delete a child while nobody can see it."""
    await direct.delete(kinds.SERVICE, child_name(QUIET), stage.customers.namespace)
    await direct.delete(kinds.SECRET, key.verifier, TOKEN_NAMESPACE)
    stage.customers.ended.append(key.ended(time.monotonic()))


async def _until_answering(client: KubeClient) -> None:
    async def answers() -> bool:
        try:
            await client.list(kinds.NAMESPACE)
        except KubernetesError:
            return False
        return True

    await eventually(answers, within=BACK_SECONDS, what="an API server that answers")


def _compact(paths: StatePaths) -> None:
    """Let etcd forget everything but the present, through its own gateway."""
    context = ssl.create_default_context(cafile=store.certificate_file(paths, Authority.ETCD))
    name = "apiserver-etcd-client"
    context.load_cert_chain(store.certificate_file(paths, name), store.key_file(paths, name))
    url = f"https://127.0.0.1:{plan_of(paths).etcd}/v3/kv"
    with httpx.Client(verify=context, trust_env=False) as http:
        found = http.post(f"{url}/range", json={"key": "AA=="}).raise_for_status().json()
        now = int(found["header"]["revision"])
        http.post(f"{url}/compaction", json={"revision": now, "physical": True}).raise_for_status()
        before = http.post(f"{url}/range", json={"key": "AA==", "revision": now - 1})
    assert "required revision has been compacted" in before.text


async def _relists(client: KubeClient) -> float:
    return await _metric(client, "private_llm_auth_relists_total")


async def _watch_failures(client: KubeClient) -> float:
    return await _metric(client, "private_llm_auth_watch_failures_total")


async def _metric(client: KubeClient, name: str) -> float:
    """Return what the ForwardAuth service's replicas have counted together."""
    pods = await client.list(
        kinds.POD, SYSTEM_NAMESPACE, labels=f"app.kubernetes.io/name={AUTHSERVER}"
    )
    total = 0.0
    async with httpx.AsyncClient(trust_env=False) as http:
        for pod in pods.items:
            answer = await http.get(f"http://{pod['status']['podIP']}:{ADMIN_PORT}/metrics")
            total += sum(_samples(answer.text, name))
    return total


def _samples(text: str, name: str) -> Iterator[float]:
    for line in text.splitlines():
        if line.startswith((f"{name} ", f"{name}{{")):
            yield float(line.rpartition(" ")[2])


async def _rejected(client: KubeClient) -> float:
    """Return how many requests the API server has refused because of the storm."""
    total = 0.0
    async for line in client.lines("/metrics"):
        text = line.decode()
        if text.startswith("apiserver_flowcontrol_rejected_requests_total") and STORM in text:
            total += float(text.rpartition(" ")[2])
    return total


def _no_seats() -> dict[str, Any]:
    limited = {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    spec = {"type": "Limited", "limited": limited}
    return _flow("PriorityLevelConfiguration", spec)


def _everything_of_ours() -> dict[str, Any]:
    accounts = [
        {"kind": "ServiceAccount", "serviceAccount": {"namespace": SYSTEM_NAMESPACE, "name": name}}
        for name in (OPERATOR, AUTHSERVER)
    ]
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    rules = {
        "subjects": accounts,
        "resourceRules": [everything | {"clusterScope": True, "namespaces": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    spec = {
        "priorityLevelConfiguration": {"name": STORM},
        "matchingPrecedence": 50,
        "rules": [rules],
    }
    return _flow("FlowSchema", spec)


def _flow(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{FLOW}/v1", "kind": kind, "metadata": {"name": STORM}, "spec": spec}
