"""The operator's process, limited to one tenant's namespace of a real API server."""

from pathlib import Path

import pytest

from eventually import eventually
from operator_passes import order
from operator_process import RunningOperator, environment, running
from privatellm.kube import KubeClient, kinds
from privatellm_operator.world.watched import CHILDREN

pytestmark = pytest.mark.integration


@pytest.fixture
def variables(bare_kubeconfig: Path, tmp_path: Path, tenant: str, system: str) -> dict[str, str]:
    """The environment of an operator that serves the tenant."""
    return environment(
        bare_kubeconfig,
        tmp_path,
        POD_NAMESPACE=system,
        PRIVATE_LLM_TOKEN_NAMESPACE=system,
        PRIVATE_LLM_NAMESPACES=tenant,
    )


async def _until_stopped(client: KubeClient, namespace: str, name: str) -> None:
    async def stopped() -> bool:
        found = await client.get(kinds.LLM_INSTANCE, name, namespace)
        return bool(found and found.get("status", {}).get("phase") == "Stopped")

    await eventually(stopped, within=60, what=f"instance {name}")


async def _versions(client: KubeClient, tenant: str, system: str) -> dict[str, str]:
    watched = [(watching.kind, tenant) for watching in CHILDREN]
    places = [*watched, (kinds.LLM_INSTANCE, tenant), (kinds.MIDDLEWARE, system)]
    return {
        f"{kind.name} {item['metadata']['name']}": item["metadata"]["resourceVersion"]
        for kind, namespace in places
        for item in (await client.list(kind, namespace)).items
    }


async def _idle(operator: RunningOperator, passes: int) -> None:
    async def idle() -> bool:
        done = await operator.metric('private_llm_reconcile_total{kind="LLMInstance"')
        return done >= passes and await operator.metric("private_llm_queue_depth") == 0

    await eventually(idle, within=60, what="an idle operator")


async def test_an_operator_serves_stops_and_comes_back_without_a_write(
    client: KubeClient, variables: dict[str, str], tmp_path: Path, tenant: str, system: str
) -> None:
    """From an order to its objects by watches; a restart over a settled world changes nothing."""
    async with running(variables, tmp_path / "first.log") as operator:
        await operator.until("leading")
        for name in ("one", "two"):
            await client.create(kinds.LLM_INSTANCE, order(tenant, name))
            await _until_stopped(client, tenant, name)
        await client.delete(kinds.SERVICE, "one-llama", tenant)

        async def repaired() -> bool:
            return await client.get(kinds.SERVICE, "one-llama", tenant) is not None

        await eventually(repaired, what="the deleted Service")
        assert await operator.stop() == 0
    before = await _versions(client, tenant, system)

    async with running(variables, tmp_path / "second.log") as operator:
        await operator.until("leading")
        await _idle(operator, passes=2)
        assert await operator.stop() == 0

    assert await _versions(client, tenant, system) == before


async def test_a_standby_takes_over_when_the_leader_stops(
    client: KubeClient, variables: dict[str, str], tmp_path: Path, tenant: str
) -> None:
    """Both are ready, one works, and the second goes on where the first left."""
    async with running(variables | {"POD_NAME": "first"}, tmp_path / "first.log") as first:
        await first.until("leading")
        second_variables = variables | {"POD_NAME": "second"}
        async with running(second_variables, tmp_path / "second.log") as second:
            await second.until("standby")
            assert await first.stop() == 0
            await second.until("leading")
            await client.create(kinds.LLM_INSTANCE, order(tenant))
            await _until_stopped(client, tenant, "chat")
            assert await second.stop() == 0


async def test_no_kopf_annotation_or_finalizer_is_left_on_users_objects(
    client: KubeClient, variables: dict[str, str], tmp_path: Path, tenant: str
) -> None:
    """What a customer wrote carries our finalizer and nothing of the framework."""
    async with running(variables, tmp_path / "operator.log") as operator:
        await operator.until("leading")
        await client.create(kinds.LLM_INSTANCE, order(tenant))
        await _until_stopped(client, tenant, "chat")
        await operator.stop()

    stored = await client.get(kinds.LLM_INSTANCE, "chat", tenant)
    assert stored is not None
    assert "annotations" not in stored["metadata"]
    assert stored["metadata"]["finalizers"] == ["llm.privatellms.msp/llminstance-finalizer"]


async def test_a_wrong_environment_is_one_line_and_exit_code_two(
    variables: dict[str, str], tmp_path: Path
) -> None:
    """The variable, the rule and what we got; no traceback."""
    log = tmp_path / "operator.log"
    async with running(variables | {"PUBLIC_SCHEME": "ftp"}, log) as operator:
        assert await operator.process.wait() == 2

    text = log.read_text()
    assert "PUBLIC_SCHEME" in text
    assert "Traceback" not in text
