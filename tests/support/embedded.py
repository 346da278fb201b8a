"""An embedded environment under test: started, asked and stopped through the command line."""

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UP_DEADLINE_SECONDS = 30 * 60
"""The first start builds the control plane."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command printed and returned."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Environment:
    """A running environment and the state directory that it lives in."""

    state: Path

    def exports(self, *instance: str) -> dict[str, str]:
        """Return what ``privatellm env`` exports, as a shell would read it."""
        outcome = privatellm("env", *instance, "--state", str(self.state))
        assert outcome.code == 0, outcome.stderr
        lines = (shlex.split(line)[1] for line in outcome.stdout.splitlines())
        return dict(line.split("=", 1) for line in lines)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return Path(self.exports()["KUBECONFIG"])

    @property
    def edge_url(self) -> str:
        """The URL of the edge."""
        return self.exports()["PRIVATE_LLM_URL"]


def privatellm(
    *arguments: str, timeout: float = 120, environment: Mapping[str, str] | None = None
) -> Outcome:
    """Run the ``privatellm`` command of this virtual environment."""
    command = [str(Path(sys.executable).with_name("privatellm")), *arguments]
    finished = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
    )
    return Outcome(finished.returncode, finished.stdout, finished.stderr)


def start(state: Path, *options: str) -> Environment:
    """Bring an environment up in the background and return it when it is ready."""
    outcome = privatellm(
        "up", "--detach", "--state", str(state), *options, timeout=UP_DEADLINE_SECONDS
    )
    assert outcome.code == 0, f"{outcome.stdout}\n{outcome.stderr}"
    return Environment(state)


def stop(environment: Environment) -> None:
    """Stop an environment and remove its state."""
    outcome = privatellm("down", "--purge", "--state", str(environment.state))
    assert outcome.code == 0, outcome.stderr


async def kubectl(environment: Environment, *arguments: str, stdin: str = "") -> str:
    """Run kubectl as a customer would and return what it prints."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("kubectl")),
        *arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(environment.kubeconfig)},
    )
    stdout, stderr = await process.communicate(stdin.encode())
    assert process.returncode == 0, stderr.decode()
    return stdout.decode()
