"""An operator that serves some namespaces, with the rights that the chart gives it, on a real API server.

What it may do in a namespace is bound there: it comes and goes with the binding, and with the namespace.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from uuid import uuid4

import pytest

import chart_helm
from bare_servers import write_kubeconfig
from chart_helm import Helm
from customer import token_request, until_phase
from eventually import eventually
from operator_passes import order
from operator_process import environment, running
from privatellm import labels
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import slug_of
from privatellm.tokens import Token
from privatellm.verifiers import Verifier, hash_profile

pytestmark = pytest.mark.integration

ACCOUNT = "private-llm-operator"
RIGHTS = {
    kind.name: kind
    for kind in (
        kinds.SERVICE_ACCOUNT,
        kinds.CLUSTER_ROLE,
        kinds.CLUSTER_ROLE_BINDING,
        kinds.ROLE,
        kinds.ROLE_BINDING,
    )
}


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """The pinned Helm, which only renders."""
    return chart_helm.provide(tmp_path_factory.mktemp("helm"))


@pytest.fixture
async def absent(client: KubeClient) -> AsyncIterator[str]:
    """A namespace that does not exist."""
    name = f"absent-{token_hex(4)}"
    yield name
    await client.delete(kinds.NAMESPACE, name)


@pytest.fixture
async def rights(
    client: KubeClient, helm: Helm, tenant: str, system: str, absent: str
) -> AsyncIterator[tuple[Manifest, ...]]:
    """What the chart brings for an operator of two namespaces; nothing can be bound in the absent one."""
    values = {
        "watch": {"namespaces": [tenant, absent]},
        "onboardedNamespaces": [tenant, absent],
        "tokens": {"namespace": f"{system}-tokens"},
    }
    await client.create(kinds.NAMESPACE, namespace_manifest(f"{system}-tokens"))
    rendered = helm.template(values, namespace=system)
    objects = tuple(item for item in rendered if item["kind"] in RIGHTS)
    for item in objects:
        if item["metadata"].get("namespace") != absent:
            await grant(client, item)
    yield objects
    await client.delete(kinds.NAMESPACE, f"{system}-tokens")
    for item in objects:
        if "namespace" not in item["metadata"]:
            await client.delete(RIGHTS[item["kind"]], item["metadata"]["name"])


def namespace_manifest(name: str) -> Manifest:
    """Return a namespace to create."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def grant(client: KubeClient, item: Manifest) -> None:
    """Create or update one object of the chart."""
    await client.apply(RIGHTS[item["kind"]], item, field_manager="tests")


@pytest.fixture
async def variables(
    client: KubeClient,
    rights: tuple[Manifest, ...],
    tmp_path: Path,
    tenant: str,
    system: str,
    absent: str,
) -> dict[str, str]:
    """The environment of an operator under the chart's service account."""
    assert rights
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = kinds.SERVICE_ACCOUNT.path(system, ACCOUNT, "token")
    token = (await client.request("POST", path, body=asked))["status"]["token"]
    return environment(
        write_kubeconfig(tmp_path / "kubeconfig", client.server, token),
        tmp_path,
        POD_NAMESPACE=system,
        PRIVATE_LLM_TOKEN_NAMESPACE=f"{system}-tokens",
        PRIVATE_LLM_NAMESPACES=f"{tenant},{absent}",
        # Often enough for a test to see that none fails.
        PRIVATE_LLM_RELIST_SECONDS="1",
        PRIVATE_LLM_SWEEP_SECONDS="1",
    )


async def order_and_ask(client: KubeClient, namespace: str) -> None:
    """Order an instance, ask for a key of it, and wait for both."""
    await client.create(kinds.LLM_INSTANCE, order(namespace))
    await client.create(kinds.API_TOKEN_REQUEST, token_request(namespace, "key", "chat"))
    await until_phase(client, kinds.LLM_INSTANCE, namespace, "chat", "Stopped")
    await until_phase(client, kinds.API_TOKEN_REQUEST, namespace, "key", "Ready")


async def keys(client: KubeClient, system: str) -> int:
    """Return how many keys open anything."""
    marked = f"{labels.MANAGED_BY}={labels.MANAGED_BY_OPERATOR}"
    return len((await client.list(kinds.SECRET, f"{system}-tokens", labels=marked)).items)


def a_verifier(namespace: str) -> Verifier:
    """Return the verifier of a request that does not exist in a customer's namespace."""
    token, uid = Token.mint(), str(uuid4())
    return Verifier(
        key_id=token.key_id,
        hash=hash_profile().hash(token.secret),
        request_uid=str(uuid4()),
        instance_uid=uid,
        slug=slug_of(uid),
        namespace=namespace,
        not_before=datetime.now(UTC).replace(microsecond=0),
    )


async def until_gone(client: KubeClient, namespace: str) -> None:
    """Wait for the end of a namespace."""

    async def gone() -> bool:
        found = await client.get(kinds.NAMESPACE, namespace)
        assert found is None, found["status"].get("conditions")
        return True

    await eventually(gone, within=90, what=f"the end of {namespace}")


@pytest.mark.parametrize("bindings", ["before it", pytest.param("with it", marks=pytest.mark.deep)])
async def test_a_namespace_ends_with_what_was_ordered_in_it(
    client: KubeClient,
    variables: dict[str, str],
    tmp_path: Path,
    tenant: str,
    system: str,
    bindings: str,
) -> None:
    """Although the operator's rights in it end before; no key outlives it."""
    async with running(variables, tmp_path / "operator.log") as operator:
        await operator.until("leading")
        await order_and_ask(client, tenant)
        assert await keys(client, system) == 1

        if bindings == "before it":
            for binding in (await client.list(kinds.ROLE_BINDING, tenant)).items:
                await client.delete(kinds.ROLE_BINDING, binding["metadata"]["name"], tenant)
        await client.delete(kinds.NAMESPACE, tenant)

        await until_gone(client, tenant)
        assert await keys(client, system) == 0
        assert await operator.stop() == 0


async def test_a_running_operator_removes_verifiers_that_nobody_answers_for(
    client: KubeClient, variables: dict[str, str], tmp_path: Path, tenant: str, system: str
) -> None:
    """Those of namespaces that it does not serve are somebody else's business."""
    tokens = f"{system}-tokens"
    orphan, foreign = [
        await client.create(kinds.SECRET, a_verifier(namespace).to_secret(tokens))
        for namespace in (tenant, "not-served")
    ]
    async with running(variables, tmp_path / "operator.log") as operator:
        await operator.until("leading")
        await order_and_ask(client, tenant)

        async def swept() -> bool:
            return await client.get(kinds.SECRET, orphan["metadata"]["name"], tokens) is None

        await eventually(swept, within=30, what="a sweep")
        assert await client.get(kinds.SECRET, foreign["metadata"]["name"], tokens) == foreign
        assert await keys(client, system) == 2
        assert await operator.stop() == 0


async def test_orders_in_namespaces_that_are_not_served_are_left_alone(
    client: KubeClient, variables: dict[str, str], tmp_path: Path, tenant: str
) -> None:
    """The operator may see them, and somebody else looks after them."""
    other = f"other-{token_hex(4)}"
    await client.create(kinds.NAMESPACE, namespace_manifest(other))
    before = await client.create(kinds.LLM_INSTANCE, order(other))
    async with running(variables, tmp_path / "operator.log") as operator:
        await operator.until("leading")
        asked = await client.create(kinds.API_TOKEN_REQUEST, token_request(other, "key", "chat"))
        later = await client.create(kinds.LLM_INSTANCE, order(other, "later"))
        await order_and_ask(client, tenant)

        for kind, known in (
            (kinds.LLM_INSTANCE, before),
            (kinds.LLM_INSTANCE, later),
            (kinds.API_TOKEN_REQUEST, asked),
        ):
            assert await client.get(kind, known["metadata"]["name"], other) == known
        await client.delete(kinds.NAMESPACE, other)
        await until_gone(client, other)
        assert other not in (tmp_path / "operator.log").read_text()


async def test_a_namespace_without_rights_or_existence_keeps_nobody_from_being_served(
    client: KubeClient,
    rights: tuple[Manifest, ...],
    variables: dict[str, str],
    tmp_path: Path,
    tenant: str,
    absent: str,
) -> None:
    """Lists go on, the log says what to do, and the namespace is served as soon as it is bound."""
    log = tmp_path / "operator.log"
    async with running(variables, log) as operator:
        await operator.until("leading")
        await order_and_ask(client, tenant)
        await client.create(kinds.NAMESPACE, namespace_manifest(absent))
        await client.create(kinds.LLM_INSTANCE, order(absent))
        for item in rights:
            if item["metadata"].get("namespace") == absent:
                await grant(client, item)
        await client.create(kinds.API_TOKEN_REQUEST, token_request(absent, "key", "chat"))

        await until_phase(client, kinds.LLM_INSTANCE, absent, "chat", "Stopped")
        await until_phase(client, kinds.API_TOKEN_REQUEST, absent, "key", "Ready")
        await client.delete(kinds.NAMESPACE, absent)
        await until_gone(client, absent)
        assert await operator.stop() == 0

    said = log.read_text()
    assert "Bind the operator's ClusterRole in the namespace" in said
    assert "listing failed" not in said
    assert "periodic job" not in said
