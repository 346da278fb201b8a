"""The command line as a customer uses it: one kubeconfig, one namespace, whole processes."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import embedded
from embedded import Outcome

LIKELIEST_LINE = ("--temperature", "0", "--max-tokens", "24", "--stop", "\\n")
"""What makes the demo's small base model answer in one line."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A person with a kubeconfig in a namespace."""

    kubeconfig: Path
    namespace: str

    def run(self, *arguments: str, timeout: float = 120) -> Outcome:
        """Run a command and return what it printed."""
        return embedded.privatellm(
            *arguments,
            "--kubeconfig",
            str(self.kubeconfig),
            "--namespace",
            self.namespace,
            timeout=timeout,
        )

    async def call(self, *arguments: str, timeout: float = 120) -> Outcome:  # noqa: ASYNC109
        """Run a command beside other things that the test does."""
        return await asyncio.to_thread(self.run, *arguments, timeout=timeout)

    def succeed(self, *arguments: str) -> str:
        """Run a command that must succeed and return what it printed."""
        outcome = self.run(*arguments)
        assert outcome.code == 0, outcome.stderr
        return outcome.stdout

    def json(self, *arguments: str) -> Any:
        """Run a command that must succeed and read the JSON that it printed."""
        return json.loads(self.succeed(*arguments))


def only_line(outcome: Outcome) -> str:
    """Return the one line of an error, which is all that a failed command may say."""
    lines = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in outcome.stderr
    assert len(lines) == 1, outcome.stderr
    return lines[0]
