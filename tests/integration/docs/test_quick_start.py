"""What the quick start and the README print is what a reader's shell prints, command by command."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from docs_pages import DOCS, ROOT, Page
from docs_shell import comparable
from embedded import Environment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

BEFORE = 'eval "$(privatellm env)"'
"""The first command of a reader who has an environment; the ones before it make one."""

LAST = "privatellm delete chat --tokens"
"""The last command that leaves the environment to the next test."""


async def typed(lines: list[str], env: dict[str, str]) -> list[str]:
    """Run commands in one shell that stops at the first that fails; return what each printed."""
    marked = [f"printf '\\n<<%s>>\\n' {number}\n{line}" for number, line in enumerate(lines)]
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-euo", "pipefail", "-c", "\n".join(marked)),
        env=env,
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await shell.communicate()
    text = printed.decode()
    assert shell.returncode == 0, text
    return [text.partition(f"\n<<{n}>>\n")[2].partition("\n<<")[0] for n in range(len(lines))]


@pytest.fixture
def shell_environment(environment: Environment, tmp_path: Path) -> dict[str, str]:
    """The environment of a reader's shell, whose default state directory is the running one."""
    (tmp_path / "private-llm").symlink_to(environment.state)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    cleared = {name: text for name, text in os.environ.items() if name != "KUBECONFIG"}
    return {**cleared, "PATH": path, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}


async def test_the_quick_start_goes_as_printed(shell_environment: dict[str, str]) -> None:
    """From the order to the end of the key, with the answers that the page promises."""
    lines = list(Page(DOCS / "tutorial" / "quick-start.md").command_lines())
    lines = lines[lines.index(BEFORE) : lines.index(LAST) + 1]
    printed = list(zip(lines, await typed(lines, shell_environment), strict=True))

    def outputs_of(command: str) -> list[str]:
        return [output for line, output in printed if line.startswith(command)]

    assert "gemma-3-270m" in outputs_of("privatellm models")[0]
    assert "Ready" in outputs_of("kubectl get llminstance chat")[0]
    assert "pllm_" in outputs_of("privatellm token create")[0]
    assert "Paris" in outputs_of("privatellm chat chat")[0]
    assert "my-key" in outputs_of("privatellm token list")[0]
    served, refused = outputs_of("curl")
    assert '"gemma-3-270m"' in served
    assert "revoked_api_key" in refused


async def test_the_order_of_the_readme_goes_as_printed(shell_environment: dict[str, str]) -> None:
    """Line by line, and the key is refused in the end as it says."""
    transcript = list(Page(ROOT / "README.md").transcript("Order one yourself"))
    curl = next(command for command, _ in transcript if command.startswith("curl"))
    end = "kubectl delete -f docs/tutorial/order.yaml --ignore-not-found"
    lines = [*(command for command, _ in transcript), curl, end]

    printed = await typed(lines, shell_environment)

    for (command, promised), output in zip(transcript, printed, strict=False):
        shown = {comparable(line) for line in output.splitlines()}
        assert {comparable(line) for line in promised} <= shown, command
    assert "invalid_api_key" in printed[-2] or "revoked_api_key" in printed[-2]
