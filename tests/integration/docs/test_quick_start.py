"""Every command of the quick start runs as it is printed, one after the other in one shell."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from docs_pages import DOCS, Page
from embedded import Environment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

BEFORE = 'eval "$(privatellm env)"'
"""The first command of a reader who has an environment; the ones before it make one."""

LAST = "privatellm delete chat --tokens"
"""The last command that leaves the environment to the next test."""


def commands() -> list[str]:
    """Return what a reader types between starting the environment and stopping it."""
    lines = list(Page(DOCS / "tutorial" / "quick-start.md").command_lines())
    return lines[lines.index(BEFORE) : lines.index(LAST) + 1]


async def typed(lines: list[str], env: dict[str, str]) -> dict[str, str]:
    """Run commands in one shell that stops at the first that fails; return what each printed."""
    marked = [f"printf '\\n<<%s>>\\n' {number}\n{line}" for number, line in enumerate(lines)]
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", "\n".join(marked)),
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await shell.communicate()
    text = printed.decode()
    assert shell.returncode == 0, text
    outputs = [text.partition(f"\n<<{n}>>\n")[2].partition("\n<<")[0] for n in range(len(lines))]
    return {
        f"{number} {line}": out
        for number, (line, out) in enumerate(zip(lines, outputs, strict=True))
    }


@pytest.fixture
def shell_environment(environment: Environment, tmp_path: Path) -> dict[str, str]:
    """The environment of a reader's shell, whose default state directory is the running one."""
    (tmp_path / "private-llm").symlink_to(environment.state)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    cleared = {name: text for name, text in os.environ.items() if name != "KUBECONFIG"}
    return {**cleared, "PATH": path, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}


async def test_the_quick_start_goes_as_printed(shell_environment: dict[str, str]) -> None:
    """From the order to the end of the key, with the answers that the page promises."""
    printed = await typed(commands(), shell_environment)

    def output_of(command: str, occurrence: int = 0) -> str:
        found = [out for line, out in printed.items() if line.partition(" ")[2].startswith(command)]
        return found[occurrence]

    assert "gemma-3-270m" in output_of("privatellm models")
    assert "Ready" in output_of("kubectl get llminstance chat")
    assert "pllm_" in output_of("privatellm token create")
    assert "Paris" in output_of("privatellm chat chat")
    assert '"gemma-3-270m"' in output_of("curl", 0)
    assert "revoked_api_key" in output_of("curl", 1)
    assert "my-key" in output_of("privatellm token list")
