"""Model servers that have no room for their weights, or stop answering without dying."""

import os
import signal
from collections.abc import Iterator

import pytest

from chaos_fault import Stage
from chaos_parts import MODEL_SERVER, Parts
from chaos_wiring import Disk, can_mount, small_disk
from customer import instance, until_condition, until_phase
from eventually import eventually
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(900)]

MEBIBYTE = 1 << 20
TOO_SMALL = 64 * MEBIBYTE
"""A quarter of the demo's weights."""

UNREADY_SECONDS = 120.0


@pytest.fixture(scope="module")
def disk(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    """The disk for weights."""
    if not can_mount():
        pytest.skip("a small disk needs a mount namespace, which this machine does not let us make")
    with small_disk(parts, tmp_path_factory.mktemp("disk")) as found:
        yield found


async def test_a_full_disk_is_told_and_healed_by_room(
    stage: Stage, disk: Disk, client: KubeClient
) -> None:
    """The new instance says what is missing and starts by itself when there is room; the others go on."""
    namespace, name = stage.customers.namespace, "starved"
    try:
        async with stage.fault("disk for weights full: a new instance") as fault:
            disk.shrink(TOO_SMALL)
            fault.begins()
            await client.create(kinds.LLM_INSTANCE, instance(namespace, name))
            await until_condition(
                client,
                kinds.LLM_INSTANCE,
                namespace,
                name,
                "ModelAvailable",
                "InsufficientStorage",
            )
            fault.figures["told in the condition"] = fault.age
            disk.grow()
            fault.is_over()
            await until_phase(client, kinds.LLM_INSTANCE, namespace, name, "Ready")
            fault.figures["ready after there was room"] = fault.age - (fault.ended - fault.began)
        assert fault.seen().refused == {}
    finally:
        await _removed(client, namespace, name)


async def test_a_hung_model_server_is_taken_out_and_comes_back(stage: Stage) -> None:
    """It goes on accepting connections and answers nothing; after ten minutes its probe would end it."""
    async with stage.fault("model server, the only replica: frozen until out of service") as fault:
        hung = stage.parts.leaders("", MODEL_SERVER)[0]
        fault.begins()
        os.kill(hung.pid, signal.SIGSTOP)

        async def unready() -> bool:
            pod = await stage.client.get(kinds.POD, hung.pod, stage.customers.namespace) or {}
            conditions = pod.get("status", {}).get("conditions", ())
            return any(c["type"] == "Ready" and c["status"] == "False" for c in conditions)

        try:
            await eventually(unready, within=UNREADY_SECONDS, what="an unready pod")
            fault.figures["no request goes there any more"] = fault.age
        finally:
            os.kill(hung.pid, signal.SIGCONT)
        fault.is_over()


async def _removed(client: KubeClient, namespace: str, name: str) -> None:
    await client.delete(kinds.LLM_INSTANCE, name, namespace)

    async def gone() -> bool:
        pods = await client.list(
            kinds.POD, namespace, labels=f"llm.privatellms.msp/instance={name}"
        )
        return await client.get(kinds.LLM_INSTANCE, name, namespace) is None and not pods.items

    await eventually(gone, within=120, what=f"the end of {name}")
