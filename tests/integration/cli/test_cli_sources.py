"""Waiting for models that no source gives, on the embedded environment."""

import asyncio
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cache_world import add_model, demo_weights, platform_settings
from cli_world import CommandLine, only_line
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

NOBODY = "http://127.0.0.1:9/model.gguf"
"""A port that nobody listens on, as a hub behind a wall looks like."""


@pytest.fixture
def shared_cache(kubeconfig: Path) -> Iterator[None]:
    """A platform that fetches for its customers, where they read no log."""

    async def allowed() -> Path:
        async with await KubeClient.connect(kubeconfig) as client:
            return (await demo_weights(client)).parent

    directory = asyncio.run(allowed()) / f"shared-{secrets.token_hex(4)}"
    with platform_settings(
        kubeconfig,
        PRIVATE_LLM_CACHE_MODE="hostPath",
        PRIVATE_LLM_CACHE_DIRECTORY=str(directory),
        PRIVATE_LLM_ALLOW_PRIVATE_SOURCES="true",
    ):
        yield
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def private_sources(kubeconfig: Path) -> Iterator[None]:
    """A platform whose models may come from this machine."""
    with platform_settings(kubeconfig, PRIVATE_LLM_ALLOW_PRIVATE_SOURCES="true"):
        yield


async def _assert_told(client: KubeClient, cli: CommandLine, url: str, cause: str) -> None:
    """Order a model from a URL; the wait ends within a minute with the cause, which `describe` has too."""
    model = await add_model(client, url)
    try:
        began = time.monotonic()
        outcome = await cli.call("deploy", "chat", "--model", model, "--wait")
        took = time.monotonic() - began
        described = await cli.call("describe", "chat")
        await cli.call("delete", "chat")
    finally:
        await client.delete(kinds.LLM_MODEL, model)

    assert outcome.code == 11, outcome.stderr
    assert cause in only_line(outcome)
    assert cause in described.stdout
    assert took < 60


async def test_a_source_that_the_platform_refuses(client: KubeClient, cli: CommandLine) -> None:
    """An address of the platform's own network, from which nobody may fetch."""
    await _assert_told(client, cli, NOBODY, "127.0.0.1")


async def test_a_file_that_is_not_there(
    client: KubeClient, cli: CommandLine, shared_files: Path
) -> None:
    """As a typo in the catalogue is."""
    await _assert_told(client, cli, (shared_files / "absent.gguf").as_uri(), "absent.gguf")


@pytest.mark.usefixtures("private_sources")
async def test_a_source_that_does_not_answer(client: KubeClient, cli: CommandLine) -> None:
    """The fetcher goes on trying for minutes; whoever waits is told before."""
    await _assert_told(client, cli, NOBODY, "check that it is reachable from the cluster")


@pytest.mark.deep
@pytest.mark.usefixtures("shared_cache")
async def test_a_source_that_does_not_answer_the_platform(
    client: KubeClient, cli: CommandLine
) -> None:
    """A Job of the platform's tries for minutes; the conditions tell who waits what it meets."""
    await _assert_told(client, cli, NOBODY, "check that it is reachable from the cluster")
