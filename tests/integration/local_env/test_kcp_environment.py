"""``up --kcp``: a customer who has only a workspace's kubeconfig and kubectl orders, asks and revokes."""

import base64
import json
import os
import signal
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

import embedded
from customer import Credentials, chat, instance, token_request, until_routed
from eventually import eventually

pytestmark = [pytest.mark.deep, pytest.mark.integration, pytest.mark.timeout(600)]

COLD_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Customer:
    """Somebody who has a workspace's kubeconfig and nothing else."""

    environment: embedded.Environment
    kubeconfig: Path

    async def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl in the workspace and return what it prints."""
        return await embedded.kubectl(
            self.environment, "--kubeconfig", str(self.kubeconfig), *arguments, stdin=stdin
        )

    async def key(self, request: str) -> Credentials:
        """Return what the Secret of a request holds, as soon as it is there."""

        async def found() -> dict[str, str]:
            name = f"{request}-token"
            text = await self.kubectl("get", "secret", name, "--ignore-not-found", "-o", "json")
            return dict(json.loads(text)["data"]) if text else {}

        data = await eventually(found, what="the Secret in the workspace", within=60)
        decoded = {name: base64.b64decode(text).decode() for name, text in data.items()}
        return Credentials(
            decoded["OPENAI_API_KEY"], decoded["OPENAI_API_URL"], decoded["OPENAI_BASE_URL"]
        )


def status(environment: embedded.Environment) -> dict[str, Any]:
    """Return what ``privatellm status`` says."""
    outcome = embedded.privatellm("status", "-o", "json", "--state", str(environment.state))
    document: dict[str, Any] = json.loads(outcome.stdout)
    return document


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[embedded.Environment]:
    """An environment with workspaces, without the demo's order."""
    started = embedded.start(tmp_path_factory.mktemp("kcp-env"), "--kcp", "--no-demo")
    yield started
    embedded.stop(started)


@pytest.fixture
def customer(environment: embedded.Environment) -> Customer:
    """A customer with the kubeconfig that ``up`` prints."""
    return Customer(environment, Path(status(environment)["customerKubeconfig"]))


async def _ordered(customer: Customer) -> Credentials:
    orders = (instance("default", "chat"), token_request("default", "chat-key", "chat"))
    await customer.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(orders))
    wait = ("wait", "llminstance/chat", "--for=condition=Ready")
    await customer.kubectl(*wait, f"--timeout={COLD_START_SECONDS:.0f}s")
    return await customer.key("chat-key")


async def _answers(key: Credentials) -> None:
    async with httpx.AsyncClient() as http:
        await until_routed(http, key)
        answer = await chat(http, key)
    assert answer.status_code == 200, answer.text
    assert "Paris" in answer.json()["choices"][0]["message"]["content"]


async def test_an_order_in_a_workspace_brings_a_key_that_works_through_the_edge(
    customer: Customer,
) -> None:
    """Nobody onboards anything by hand; a stop and a start later the key still opens the same instance."""
    environment = customer.environment
    key = await _ordered(customer)
    await _answers(key)

    assert embedded.privatellm("down", "--state", str(environment.state)).code == 0
    embedded.start(environment.state, "--no-demo")  # Without --kcp: it is remembered.

    assert await customer.key("chat-key") == key
    await _answers(key)

    await customer.kubectl("delete", "apitokenrequest/chat-key", "llminstance/chat")
    assert await customer.kubectl("get", "secrets", "-o", "name") == ""
    left = await embedded.kubectl(environment, "get", "llminstances", "-A", "-o", "name")
    assert left == ""


async def test_a_killed_kcp_comes_back_and_orders_go_on(customer: Customer) -> None:
    """Both processes and the agent's pod are looked after; nothing of an order is lost meanwhile."""
    environment = customer.environment
    pids = {part["name"]: part["pid"] for part in status(environment)["components"]}
    await _ordered(customer)
    for name in ("kcp", "kcp-apiserver"):
        os.kill(pids[name], signal.SIGKILL)

    async def well() -> bool:
        seen = status(environment)
        parts = {part["name"]: part["pid"] for part in seen["components"]}
        renewed = all(parts[name] not in (None, pids[name]) for name in ("kcp", "kcp-apiserver"))
        return renewed and seen["state"] == "ready"

    await eventually(well, what="kcp after a crash", within=60)

    request = token_request("default", "another-key", "chat")
    await customer.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(request))
    await _answers(await customer.key("another-key"))
    await customer.kubectl("delete", "apitokenrequests,llminstances", "--all")


async def test_a_customer_reaches_neither_the_provider_nor_the_cluster(customer: Customer) -> None:
    """The same token is refused in every other workspace, in the export's content and by the cluster."""
    known = yaml.safe_load(customer.kubeconfig.read_text())
    headers = {"Authorization": f"Bearer {known['users'][0]['user']['token']}"}
    authority = base64.b64decode(known["clusters"][0]["cluster"]["certificate-authority-data"])
    server = known["clusters"][0]["cluster"]["server"].removesuffix("/clusters/root:customer")
    ca_file = customer.environment.state / "pki/ca.crt"
    assert authority == ca_file.read_bytes()

    async with httpx.AsyncClient(
        verify=ssl.create_default_context(cafile=ca_file), headers=headers
    ) as http:
        for workspace in ("root", "root:llm-provider"):
            url = f"{server}/clusters/{workspace}/api/v1/secrets"
            assert (await http.get(url)).status_code == 403
        slices = "apis/apis.kcp.io/v1alpha1/apiexportendpointslices/llm.privatellms.msp"
        assert (await http.get(f"{server}/clusters/root:llm-provider/{slices}")).status_code == 403
        cluster = status(customer.environment)["apiServer"]
        assert (await http.get(f"{cluster}/api/v1/secrets")).status_code == 401


def test_status_shows_kcp_and_the_agent(environment: embedded.Environment) -> None:
    """And an `up` that finds everything well changes no process."""
    before = status(environment)
    assert embedded.start(environment.state, "--no-demo", "--kcp") == environment
    after = status(environment)

    assert after["state"] == "ready"
    assert {"kcp", "kcp-apiserver"} <= {part["name"] for part in after["components"]}
    assert "private-llm-sync-agent" in {part["name"] for part in after["platform"]}
    assert [part["pid"] for part in after["components"]] == [
        part["pid"] for part in before["components"]
    ]


def test_workspaces_need_the_platform(tmp_path: Path) -> None:
    """The command says so before it makes anything."""
    arguments = ("up", "--kcp", "--no-platform", "--state", str(tmp_path / "env"))

    outcome = embedded.privatellm(*arguments)

    assert outcome.code == 2
    assert "need the platform" in outcome.stderr
    assert not (tmp_path / "env").exists()
