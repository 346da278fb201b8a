"""The life of keys by the command line, on the embedded environment."""

import asyncio
import base64
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from admission_tenants import create_tenant, kubeconfig_with, token_of
from cli_world import CommandLine, only_line
from customer import MODEL, Credentials, until_phase, until_routed
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.verifiers import SECRET_TYPE

pytestmark = [
    pytest.mark.integration,
    # Each command is a process of its own, which takes a busy machine seconds to start.
    pytest.mark.timeout(600),
]


@pytest.fixture
def ordered(cli: CommandLine) -> CommandLine:
    """A command line in whose namespace a stopped instance `chat` is ordered."""
    cli.succeed("deploy", "chat", "--model", MODEL, "--replicas", "0", "--wait")
    return cli


async def _status(base_url: str, key: str) -> int:
    async with httpx.AsyncClient() as http:
        await until_routed(http, Credentials(key, base_url.removesuffix("/v1"), base_url))
        headers = {"Authorization": f"Bearer {key}"}
        return (await http.get(f"{base_url}/models", headers=headers)).status_code


async def test_a_key_is_made_used_replaced_and_revoked(ordered: CommandLine) -> None:
    """Each step takes effect at the edge before its command returns."""
    cli = ordered
    made = cli.json("token", "create", "chat", "--name", "app", "--json")
    assert made["apiKey"].startswith(f"pllm_{made['keyID']}_")
    assert await _status(made["baseURL"], made["apiKey"]) == 503, "stopped, and the key is good"

    exported = dict(
        shlex.split(line)[1].split("=", 1) for line in cli.succeed("env", "chat").splitlines()
    )
    assert exported == {"OPENAI_BASE_URL": made["baseURL"], "OPENAI_API_KEY": made["apiKey"]}
    assert cli.json("env", "chat", "-o", "json") == exported

    rotated = yaml.safe_load(cli.succeed("token", "rotate", "app", "-o", "yaml"))
    assert rotated["keyID"] != made["keyID"]
    assert await _status(made["baseURL"], made["apiKey"]) == 401
    assert await _status(made["baseURL"], rotated["apiKey"]) == 503

    listed = cli.succeed("token", "list")
    assert rotated["keyID"] in listed
    assert rotated["apiKey"] not in cli.succeed("token", "list", "-o", "yaml")

    revoked = cli.json("token", "revoke", "app", "-o", "json")
    assert (revoked["kind"], revoked["status"]["phase"]) == ("APITokenRequest", "Revoked")
    assert await _status(made["baseURL"], rotated["apiKey"]) == 401
    again = cli.run("token", "rotate", "app")
    assert again.code == 11
    assert "revoked for good" in only_line(again)


def test_a_key_without_a_form_for_programs_is_shown_to_a_person(ordered: CommandLine) -> None:
    """With its terms; a name is found for it."""
    printed = ordered.succeed("token", "create", "chat", "--expires-after", "720h")

    assert "API key:    pllm_" in printed
    assert f"Request:    {ordered.namespace}/chat-" in printed
    assert "Expires:    20" in printed


def test_a_taken_name_is_refused(ordered: CommandLine) -> None:
    """Another key is never handed out in its place."""
    ordered.succeed("token", "create", "chat", "--name", "app")

    outcome = ordered.run("token", "create", "chat", "--name", "app")

    assert outcome.code == 9
    assert "already exists" in only_line(outcome)


@pytest.mark.parametrize("phase", ["Revoked", "Expired"])
async def test_an_ended_key_is_not_used(
    client: KubeClient, ordered: CommandLine, phase: str
) -> None:
    """The way out is named, and the request of the ended one gives no other."""
    terms = ("--expires-after", "15s") if phase == "Expired" else ()
    assert (await ordered.call("token", "create", "chat", "--name", "app", *terms)).code == 0
    if phase == "Revoked":
        await ordered.call("token", "revoke", "app")
    await until_phase(client, kinds.API_TOKEN_REQUEST, ordered.namespace, "app", phase)

    for command in (("chat", "chat", "-m", "Hello"), ("bench", "chat"), ("env", "chat")):
        outcome = await ordered.call(*command)
        assert outcome.code == 9
        assert "privatellm token create" in only_line(outcome)
    rotated = await ordered.call("token", "rotate", "app")
    assert rotated.code == 11
    assert phase.lower() in only_line(rotated).lower()


async def test_a_customer_who_administers_the_namespace_may_rotate(
    client: KubeClient, ordered: CommandLine, kubeconfig: Path, tmp_path: Path
) -> None:
    """The admission policies leave the way that rotation takes open to them."""
    await create_tenant(client, ordered.namespace, "admin")
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "further-rights", "namespace": ordered.namespace},
        "rules": [{"apiGroups": [kinds.GROUP], "resources": ["*"], "verbs": ["*"]}],
    }
    await client.create(kinds.ROLE, role)
    token = await token_of(client, ordered.namespace, "admin")
    theirs = CommandLine(kubeconfig_with(token, kubeconfig, tmp_path), ordered.namespace)

    made = await theirs.call("token", "create", "chat", "--name", "app")
    rotated = await theirs.call("token", "rotate", "app")

    assert made.code == 0, made.stderr
    assert rotated.code == 0, rotated.stderr


async def test_a_secret_of_another_owner_is_left_alone(
    client: KubeClient, ordered: CommandLine
) -> None:
    """Rotation deletes a Secret, so it must be the right one."""
    ordered.succeed("token", "create", "chat", "--name", "app")
    await client.patch(
        kinds.SECRET, "app-token", ordered.namespace, {"metadata": {"ownerReferences": None}}
    )

    outcome = await ordered.call("token", "rotate", "app", "--timeout", "5")

    assert outcome.code in (9, 11)
    assert await client.get(kinds.SECRET, "app-token", ordered.namespace) is not None


async def test_requests_that_get_no_new_key_hold_nobody_up(
    client: KubeClient, ordered: CommandLine
) -> None:
    """One whose Secret somebody else took is named, and one that is being deleted is owed nothing."""
    for name in ("stays", "taken", "leaves"):
        ordered.succeed("token", "create", "chat", "--name", name)
    async with _operator_away(client):
        await client.patch(
            kinds.SECRET, "taken-token", ordered.namespace, {"metadata": {"ownerReferences": None}}
        )
        await client.delete(kinds.API_TOKEN_REQUEST, "leaves", ordered.namespace)
        rotating = asyncio.create_task(ordered.call("token", "rotate", "--all", "--yes"))
        await _until_verifiers_are_gone(client, ordered.namespace)
    done = await rotating

    assert done.code == 0, done.stderr
    assert f"{ordered.namespace}/taken has no new key. " in done.stdout
    assert "leaves" not in done.stdout
    stays = await client.get(kinds.API_TOKEN_REQUEST, "stays", ordered.namespace)
    assert stays is not None
    assert stays["status"]["phase"] == "Ready"


@asynccontextmanager
async def _operator_away(client: KubeClient) -> AsyncIterator[None]:
    """Stop the operator, as a platform team does that has to look at something in peace."""
    place = (kinds.DEPLOYMENT, "private-llm-operator", "private-llm-system")

    async def away() -> bool:
        found = await client.get(*place)
        return bool(found) and not found["status"].get("replicas")

    await client.patch(*place, {"spec": {"replicas": 0}})
    try:
        await eventually(away, within=60, what="the operator's end")
        yield
    finally:
        await client.patch(*place, {"spec": {"replicas": 1}})


async def _until_verifiers_are_gone(client: KubeClient, namespace: str) -> None:
    encoded = base64.b64encode(namespace.encode()).decode()

    async def gone() -> bool:
        listing = await client.list(
            kinds.SECRET, "private-llm-tokens", fields=f"type={SECRET_TYPE}"
        )
        return all(v["data"]["namespace"] != encoded for v in listing.items)

    await eventually(gone, within=60, what="the end of every key of the namespace")


async def test_the_platform_team_replaces_every_key(ordered: CommandLine) -> None:
    """All old keys are dead, and each request has a new one."""
    first = ordered.json("token", "create", "chat", "--name", "one", "--json")
    second = ordered.json("token", "create", "chat", "--name", "two", "--json")
    refused = ordered.run("token", "rotate", "--all")
    astray = ordered.run("token", "rotate", "--all", "--yes", "--token-namespace", "default")

    done = ordered.succeed("token", "rotate", "--all", "--yes")

    assert refused.code == 2
    assert "--yes" in only_line(refused)
    assert astray.code != 0
    assert "--token-namespace" in only_line(astray)
    assert "requests have new ones" in done
    for old in (first, second):
        assert await _status(old["baseURL"], old["apiKey"]) == 401
    after = {
        item["metadata"]["name"]: item
        for item in ordered.json("token", "list", "-o", "json")["items"]
    }
    assert {name: item["status"]["phase"] for name, item in after.items()} == {
        "one": "Ready",
        "two": "Ready",
    }
    assert after["one"]["status"]["keyID"] != first["keyID"]
