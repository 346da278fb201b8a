"""Pinning a model that the cluster offers, on the embedded environment."""

import pytest
import yaml

import cli_hub
from cli_world import CommandLine, only_line
from eventually import eventually
from privatellm.kube import KubeClient, kinds

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

EDITED = "gemma-3-12b-it"
"""A model of the default catalogue that no other test orders."""


async def test_an_offered_model_is_pinned_and_can_be_applied(
    client: KubeClient, cli: CommandLine
) -> None:
    """What is printed is what a person would have written, and the API server takes it."""
    name = f"pin-{cli.namespace}"
    source = {"huggingFace": {"repo": cli_hub.REPO, "file": "q4/model.gguf"}}
    manifest = {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": "LLMModel",
        "metadata": {"name": name},
        "spec": {"source": source},
    }
    await client.create(kinds.LLM_MODEL, manifest)
    try:
        with cli_hub.running() as hub:
            outcome = await cli.call("catalog", "pin", "--from-cluster", name, "--mirror", hub.url)
        assert outcome.code == 0, outcome.stderr
        printed = yaml.safe_load(outcome.stdout)
        applied = await client.apply(kinds.LLM_MODEL, printed, field_manager="gitops", force=True)
    finally:
        await client.delete(kinds.LLM_MODEL, name)

    assert printed["metadata"] == {"name": name}
    assert applied["spec"]["sha256"] == cli_hub.SHA256
    assert applied["spec"]["source"]["huggingFace"]["revision"] == cli_hub.COMMIT


def test_a_model_that_is_not_offered_is_answered_with_those_that_are(cli: CommandLine) -> None:
    """As for every other object."""
    outcome = cli.run("catalog", "pin", "--from-cluster", "nope")

    assert outcome.code == 9
    assert "There is no LLMModel nope; found: " in only_line(outcome)


async def test_an_edit_of_a_model_that_the_platform_keeps_is_undone_and_told(
    client: KubeClient,
) -> None:
    """Or whoever made it would look for it in vain."""
    before = await client.get(kinds.LLM_MODEL, EDITED)
    assert before is not None
    await client.patch(kinds.LLM_MODEL, EDITED, None, {"spec": {"contextSize": 512}})

    async def told() -> bool:
        """It is as it was, and the event is about this very object."""
        events = await client.list(kinds.EVENT, "default", fields="reason=CatalogueRestored")
        regarding = {event["regarding"]["uid"] for event in events.items}
        now = await client.get(kinds.LLM_MODEL, EDITED)
        is_restored = now is not None and now["spec"] == before["spec"]
        return is_restored and before["metadata"]["uid"] in regarding

    await eventually(told, within=60, what="a restored model and an event about it")
