"""What the doctor and people with few rights see, on the embedded environment."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cli_calls
from admission_tenants import kubeconfig_with, metadata, token_of
from cli_calls import Call
from cli_world import CommandLine, only_line
from privatellm.kube import KubeClient, kinds

pytestmark = [
    pytest.mark.integration,
    # Each command is a process of its own, which takes a busy machine seconds to start.
    pytest.mark.timeout(600),
]


@pytest.fixture
async def stranger(
    client: KubeClient, cli: CommandLine, kubeconfig: Path, tmp_path: Path
) -> CommandLine:
    """Somebody whom the cluster knows and who may do nothing."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(cli.namespace, "stranger"),
    }
    await client.create(kinds.SERVICE_ACCOUNT, account)
    token = await token_of(client, cli.namespace, "stranger")
    return CommandLine(kubeconfig_with(token, kubeconfig, tmp_path), cli.namespace)


def _results(document: dict[str, Any]) -> dict[str, str]:
    return {finding["part"]: finding["result"] for finding in document["findings"]}


def test_an_embedded_environment_is_healthy(cli: CommandLine) -> None:
    """Every part is seen, down to the edge's own settings."""
    outcome = cli.run("doctor", "-o", "json")
    assert outcome.code == 0, outcome.stdout

    results = _results(cli.json("doctor", "-o", "json"))

    assert set(results.values()) <= {"ok", "warning"}
    for part in ("traefik", "authserver index", "operator's rights", "admission policies"):
        assert results[part] == "ok"


def test_a_missing_platform_has_a_code_of_its_own(cli: CommandLine) -> None:
    """And every fault says what to do."""
    outcome = cli.run("doctor", "--system-namespace", cli.namespace)

    assert outcome.code == 13
    assert "There is no Deployment private-llm-operator" in outcome.stdout
    assert "-> Install Private LLM" in outcome.stdout


async def test_a_stranger_learns_what_cannot_be_seen(stranger: CommandLine) -> None:
    """Nothing that is hidden counts as healthy, and nothing ends in a traceback."""
    outcome = await stranger.call("doctor")

    assert outcome.code == 0, outcome.stdout
    assert "You may not read CustomResourceDefinitions" in outcome.stdout
    assert "You may not: " in outcome.stdout


@pytest.mark.parametrize(
    "call",
    [call for call in cli_calls.IN_CLUSTER if call.needs_right],
    ids=lambda call: call.id,
)
async def test_a_missing_right_is_one_line_that_names_it(stranger: CommandLine, call: Call) -> None:
    """For every command alike."""
    outcome = await stranger.call(*call.words)

    assert outcome.code == 9
    assert "forbidden" in only_line(outcome)


def test_a_token_that_the_cluster_takes_no_more_is_told_as_that(
    cli: CommandLine, kubeconfig: Path, tmp_path: Path
) -> None:
    """As the real API server refuses it; the unit tests ask every command."""
    expired = CommandLine(kubeconfig_with("expired", kubeconfig, tmp_path), cli.namespace)

    outcome = expired.run("list")

    assert outcome.code == 9
    assert "knows nobody by the credentials" in only_line(outcome)


def test_names_are_offered_after_tab(cli: CommandLine) -> None:
    """From the cluster and the namespace that the line, or the word itself, names so far."""
    cli.succeed("deploy", "chat", "--model", "phi-2", "--replicas", "0")

    assert _offered(cli, "-n", cli.namespace, "ch") == ["chat"]
    assert _offered(cli, f"{cli.namespace}/ch") == [f"{cli.namespace}/chat"]
    assert _offered(cli, "-n", cli.namespace[:-1]) == [cli.namespace]


def test_kubectl_offers_the_same_names_after_tab(cli: CommandLine) -> None:
    """It finds our completion beside the plugin."""
    programs = Path(sys.executable).parent
    found = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": str(cli.kubeconfig),
    }

    asked = subprocess.run(
        [programs / "kubectl", "__complete", "llm", "deploy", "chat", "--model", "phi"],
        env=found,
        capture_output=True,
        text=True,
        check=False,
    )

    assert asked.stdout.split() == ["phi-2", ":4"], asked.stderr


def _offered(cli: CommandLine, *words: str) -> list[str]:
    line = ["privatellm", "get", "--kubeconfig", str(cli.kubeconfig), *words]
    command = str(Path(sys.executable).with_name("privatellm"))
    asked = {
        "_PRIVATELLM_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    answer = subprocess.run(
        [command], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    return answer.stdout.split()
