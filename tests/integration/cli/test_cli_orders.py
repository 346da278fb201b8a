"""Ordering, looking, scaling and deleting by the command line, on the embedded environment."""

import time

import pytest

import cli_calls
from cli_calls import Call
from cli_world import CommandLine, only_line
from customer import MODEL
from privatellm.kube import KubeClient, kinds

pytestmark = [
    pytest.mark.integration,
    # Each command is a process of its own, which takes a busy machine seconds to start.
    pytest.mark.timeout(600),
]


def test_a_customer_orders_looks_scales_and_deletes(cli: CommandLine) -> None:
    """The whole life of a private LLM, without any YAML."""
    ordered = cli.run("deploy", "chat", "--model", MODEL, "--wait")
    assert ordered.code == 0, ordered.stderr
    assert f"{cli.namespace}/chat ordered." in ordered.stdout
    assert "token create" in ordered.stdout
    assert "unchanged" in cli.succeed("deploy", "chat", "--model", MODEL)

    (listed,) = cli.json("list", "-o", "json")["items"]
    shown = cli.json("get", "chat", "-o", "json")
    assert listed["metadata"]["uid"] == shown["metadata"]["uid"]
    assert shown["status"]["phase"] == "Ready"
    assert cli.succeed("get", "chat").splitlines()[1].split()[:4] == ["chat", MODEL, "Ready", "1/1"]
    assert "llama" in cli.succeed("logs", "chat").lower()
    assert '"event": "progress"' in cli.succeed("logs", "chat", "-c", "fetch-model")
    assert len(cli.succeed("logs", "chat", "--tail", "2").splitlines()) == 2

    described = cli.succeed("describe", "chat")
    assert "RouteProgrammed" in described
    assert "llama-server   running, ready" in described
    assert "Not ready" not in described

    assert "Stopped." in cli.succeed("scale", "chat", "--replicas", "0", "--wait")
    assert "privatellm scale" in cli.succeed("describe", "chat")
    stopped = cli.run("logs", "chat")
    assert stopped.code == 9
    assert "has no server" in only_line(stopped)

    assert f"{cli.namespace}/chat deleted." in cli.succeed("delete", "chat")
    absent = cli.run("delete", "chat")
    assert absent.code == 9
    assert cli.run("delete", "chat", "--ignore-not-found").code == 0
    assert "There is no private LLM" in cli.run("list").stderr


async def test_waiting_for_a_stop_ends_when_no_server_is_left(
    client: KubeClient, cli: CommandLine
) -> None:
    """A server that has not ended yet is waited for, although the instance is Stopped already."""
    assert (await cli.call("deploy", "chat", "--model", MODEL, "--wait")).code == 0
    [pod] = (await client.list(kinds.POD, cli.namespace)).items
    hold = {"metadata": {"finalizers": ["example.com/held"]}}
    await client.patch(kinds.POD, pod["metadata"]["name"], cli.namespace, hold)
    stop = ("scale", "chat", "--replicas", "0", "--wait")

    held = await cli.call(*stop, "--timeout", "15")
    await client.patch(
        kinds.POD, pod["metadata"]["name"], cli.namespace, {"metadata": {"finalizers": None}}
    )
    released = await cli.call(*stop)

    assert held.code == 12
    assert "a server of it still exists" in only_line(held)
    assert "Stopped." in released.stdout
    assert (await client.list(kinds.POD, cli.namespace)).items == ()


def test_orders_and_scaling_do_not_undo_each_other(cli: CommandLine) -> None:
    """Replicas that a later command set are kept by an order that does not name any."""
    cli.succeed("deploy", "chat", "--model", MODEL, "--replicas", "0")
    cli.succeed("scale", "chat", "--replicas", "2")
    cli.succeed("deploy", "chat", "--model", "tinyllama")
    assert cli.json("get", "chat", "-o", "json")["spec"]["replicas"] == 2

    cli.succeed("deploy", "chat", "--model", "tinyllama", "--replicas", "0")
    cli.succeed("deploy", "chat", "--model", MODEL)

    spec = cli.json("get", "chat", "-o", "json")["spec"]
    assert (spec["replicas"], spec["model"]) == (0, MODEL)


async def test_a_field_of_another_manager_is_taken_over_only_on_purpose(
    client: KubeClient, cli: CommandLine
) -> None:
    """A GitOps controller and a person do not fight unnoticed."""
    manifest = {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": "LLMInstance",
        "metadata": {"name": "chat", "namespace": cli.namespace},
        "spec": {"model": MODEL, "replicas": 0},
    }
    await client.apply(kinds.LLM_INSTANCE, manifest, field_manager="flux")

    refused = await cli.call("deploy", "chat", "--model", "tinyllama")
    taken = await cli.call("deploy", "chat", "--model", "tinyllama", "--force-conflicts")

    assert refused.code == 9
    assert "flux" in only_line(refused)
    assert "--force-conflicts" in only_line(refused)
    assert taken.code == 0


async def test_a_model_that_cannot_be_fetched_ends_the_wait_with_the_cause(
    client: KubeClient, cli: CommandLine
) -> None:
    """In one sentence, within a minute, and not with a time-out."""
    catalogue = await client.get(kinds.LLM_MODEL, MODEL)
    assert catalogue is not None
    name = f"broken-{cli.namespace}"
    broken = {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": "LLMModel",
        "metadata": {"name": name},
        "spec": catalogue["spec"] | {"sha256": "0" * 64},
    }
    await client.create(kinds.LLM_MODEL, broken)
    try:
        began = time.monotonic()
        outcome = await cli.call("deploy", "chat", "--model", name, "--wait")
        took = time.monotonic() - began
        described = await cli.call("describe", "chat", "-o", "json")
        listed, created = await cli.call("list"), await cli.call("token", "create", "chat")
        asked = [await cli.call(*c) for c in (("chat", "chat", "-m", "Hello"), ("bench", "chat"))]
        await cli.call("delete", "chat")
    finally:
        await client.delete(kinds.LLM_MODEL, name)

    assert outcome.code == 11
    assert "sha256" in only_line(outcome).lower() or "checksum" in only_line(outcome).lower()
    assert took < 60
    assert '"reason": "ChecksumMismatch"' in described.stdout
    assert "Failed" in listed.stdout
    assert created.code == 0, "a key may be asked for before its instance is ready"
    for outcome in asked:
        assert (outcome.code, only_line(outcome).count("privatellm describe")) in ((10, 1), (9, 0))


def test_what_will_not_be_there_in_time_is_told_as_that(cli: CommandLine) -> None:
    """A slow start is no failure, and has a code of its own."""
    outcome = cli.run("deploy", "chat", "--model", MODEL, "--wait", "--timeout", "1")

    assert outcome.code == 12
    assert "--timeout" in only_line(outcome)


@pytest.mark.parametrize(
    "call", [call for call in cli_calls.IN_CLUSTER if call.names], ids=lambda call: call.id
)
def test_an_unknown_name_is_told_with_the_known_ones(cli: CommandLine, call: Call) -> None:
    """For every command alike."""
    outcome = cli.run(*call.words)

    assert outcome.code == 9
    assert f"There is no {call.names} nope" in only_line(outcome)


def test_a_namesake_elsewhere_is_named_and_not_taken(cli: CommandLine) -> None:
    """Nobody gets the key of another team because of a name."""
    cli.succeed("deploy", "mine", "--model", MODEL, "--replicas", "0")
    elsewhere = CommandLine(cli.kubeconfig, "default")

    outcome = elsewhere.run("env", "mine")

    assert outcome.code == 9
    assert outcome.stdout == ""
    assert "There is no LLMInstance mine in the namespace default" in only_line(outcome)
    assert f"say {cli.namespace}/mine" in only_line(outcome)
