from datetime import UTC, datetime
from pathlib import Path

import pytest

from privatellm_cli import starting
from privatellm_local import environment
from privatellm_local.addresses import plan_for
from privatellm_local.environment import Running
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.processes import identity
from privatellm_local.processes.status import SupervisorStatus
from privatellm_local.progress import SilentProgress
from privatellm_local.steps import Options

NOW = datetime(2026, 11, 30, tzinfo=UTC)


async def test_a_stopped_demo_is_one_line_that_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing has failed; where the environment is and how to use it is said as always."""
    paths = StatePaths(tmp_path)
    supervisor = SupervisorStatus(supervisor=identity.myself(), started_at=NOW)

    async def up(*_: object) -> Running:
        return Running(paths, plan_for(1), supervisor, was_running=False, is_demo_stopped=True)

    monkeypatch.setattr(environment, "up", up)
    await starting.bring_up(Options(paths, CachePaths(tmp_path)), SilentProgress())

    said = capsys.readouterr().out
    kubeconfig = paths.kubeconfig("admin")
    assert said.startswith("Private LLM is ready.\n")
    assert (
        "\nThe demo is stopped; start it with "
        f"`privatellm scale demo/demo --replicas 1 --kubeconfig {kubeconfig}`.\n"
    ) in said
    assert "Use it from a shell:" in said
    assert "Question:" not in said
