"""Talking to a model and measuring it through the edge, on the embedded environment."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_world import LIKELIEST_LINE, CommandLine, only_line
from customer import MODEL

pytestmark = [
    pytest.mark.integration,
    # Each command is a process of its own, which takes a busy machine seconds to start.
    pytest.mark.timeout(600),
]


@pytest.fixture
def talking(cli: CommandLine) -> Iterator[CommandLine]:
    """A command line with an instance `chat` that answers, and a key to it."""
    cli.succeed("deploy", "chat", "--model", MODEL, "--wait")
    cli.succeed("token", "create", "chat")
    yield cli
    cli.run("delete", "chat", "--no-wait")


def test_a_model_answers_in_the_terminal_and_can_be_measured(talking: CommandLine) -> None:
    """One question, a pipe of questions, and a bounded benchmark."""
    question = "What is the capital of France?"
    answer = talking.succeed("chat", "chat", "-m", question, *LIKELIEST_LINE)
    assert "Paris" in answer

    measured = talking.json(
        *("bench", "chat", "--concurrency", "1,2", "--requests", "2", "--max-tokens", "8"),
        *("-o", "json"),
    )
    assert [run["concurrency"] for run in measured["runs"]] == [1, 2]
    for run in measured["runs"]:
        assert run["requests"] == 2
        assert 0 < run["timeToFirstToken"]["p50"] <= run["latency"]["p50"]
        assert run["tokensPerSecond"] > 0

    piped = _start(talking, "chat", "chat", *LIKELIEST_LINE)
    printed, _ = piped.communicate(f"{question}\n\n{question}\n", timeout=120)
    assert printed.count("Paris") == 2

    _an_interrupt_ends_a_long_answer(talking)
    _a_stopped_instance_is_told_with_the_next_step(talking)


def _an_interrupt_ends_a_long_answer(talking: CommandLine) -> None:
    """Ctrl-C ends the command with the shell's code and one line."""
    running = _start(talking, "chat", "chat", "-m", "Count to a thousand.", "--max-tokens", "1500")
    assert running.stdout is not None
    assert running.stdout.read(1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.strip() == "error: Interrupted."


def _a_stopped_instance_is_told_with_the_next_step(talking: CommandLine) -> None:
    talking.succeed("scale", "chat", "--replicas", "0", "--wait")
    for command in (("chat", "chat", "-m", "Hello"), ("bench", "chat")):
        outcome = talking.run(*command)
        assert outcome.code == 10
        assert "503" in only_line(outcome)
        assert "privatellm describe" in only_line(outcome)


def _start(cli: CommandLine, *arguments: str) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).with_name("privatellm")), *arguments]
    where = ["--kubeconfig", str(cli.kubeconfig), "--namespace", cli.namespace]
    return subprocess.Popen(
        [*command, *where],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
