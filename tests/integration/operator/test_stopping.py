"""An operator that is asked to stop while it writes; a slow API server makes the pass long enough."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bare_servers import free_port
from chaos_proxy import Relay
from eventually import eventually
from operator_passes import children_of, order
from operator_process import environment, running
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_operator.process import LEASE_NAME
from privatellm_operator.world.watched import CHILDREN

pytestmark = pytest.mark.integration

SLOW_SECONDS = 0.25
"""How long a message takes each way; a write then takes half a second, and a pass eight of them."""


@pytest.fixture
def relay(bare_kubeconfig: Path) -> Iterator[tuple[Relay, int]]:
    """A slow way to the API server, as fast as the straight one until the test says so."""
    [cluster] = yaml.safe_load(bare_kubeconfig.read_text())["clusters"]
    port = free_port()
    target = int(cluster["cluster"]["server"].rpartition(":")[2])
    with Relay(port, target).running() as relaying:
        yield relaying, port


@pytest.fixture
def slow_kubeconfig(bare_kubeconfig: Path, relay: tuple[Relay, int], tmp_path: Path) -> Path:
    """The administrator's kubeconfig, by way of the relay."""
    content = yaml.safe_load(bare_kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{relay[1]}"
    path = tmp_path / "slow-kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


async def _holder(client: KubeClient, namespace: str) -> str:
    lease = await client.get(kinds.LEASE, LEASE_NAME, namespace)
    assert lease is not None
    return str(lease["spec"].get("holderIdentity") or "")


async def _kinds_of_children(client: KubeClient, namespace: str) -> set[str]:
    return {name.partition(" ")[0] for name in await children_of(client, namespace)}


async def test_an_operator_that_is_stopped_in_the_middle_of_a_pass_finishes_it(
    client: KubeClient,
    relay: tuple[Relay, int],
    slow_kubeconfig: Path,
    tmp_path: Path,
    tenant: str,
    system: str,
) -> None:
    """Every child and the status are there when it has left, and the next leader need not wait."""
    variables = environment(
        slow_kubeconfig,
        tmp_path,
        POD_NAMESPACE=system,
        POD_NAME="the-one",
        PRIVATE_LLM_TOKEN_NAMESPACE=system,
        PRIVATE_LLM_NAMESPACES=tenant,
        PRIVATE_LLM_LOG_FORMAT="json",
    )
    log = tmp_path / "operator.log"
    every_kind = {watching.kind.name for watching in CHILDREN}
    async with running(variables, log) as operator:
        await operator.until("leading")
        assert await _holder(client, system) == "the-one"
        relay[0].delay(SLOW_SECONDS)
        await client.create(kinds.LLM_INSTANCE, order(tenant, replicas=2))

        async def begun() -> set[str]:
            return await _kinds_of_children(client, tenant)

        seen = await eventually(begun, within=60, what="the first child")
        operator.process.send_signal(signal.SIGTERM)

        async def heard() -> bool:
            return '"stopping"' in log.read_text()

        await eventually(heard, within=60, what="an operator that knows that it has to stop")
        relay[0].heal()
        assert await operator.process.wait() == 0

    assert seen < every_kind, "the pass had ended before it could be interrupted"
    assert await _kinds_of_children(client, tenant) == every_kind
    instance = await client.get(kinds.LLM_INSTANCE, "chat", tenant)
    assert instance is not None
    assert _is_reported(instance)
    assert await _holder(client, system) == ""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line[:1] == "{"]
    told = [line["event"] for line in lines]
    ending = [event for event in told[told.index("stopping") :] if event in ENDING]
    assert list(dict.fromkeys(ending)) == list(ENDING)


ENDING = (
    "stopping",
    "pass changed",
    "passes finished",
    "lease released",
    "Stop-flag is set to True. Operator is stopping.",
)
"""What the log says of the end, in this order; kopf, which may take seconds, is last."""


def _is_reported(instance: Manifest) -> bool:
    status = instance.get("status", {})
    return bool(status.get("observedGeneration") == 1 and status.get("phase"))
