from datetime import UTC, datetime
from pathlib import Path

import pytest

from privatellm_cli import starting
from privatellm_local import environment
from privatellm_local.addresses import plan_for
from privatellm_local.demo import Ended
from privatellm_local.environment import Running
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.processes import identity
from privatellm_local.processes.status import SupervisorStatus
from privatellm_local.progress import SilentProgress
from privatellm_local.steps import Options

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ended", "line"),
    [
        (
            Ended.INSTANCE,
            (
                "The demo is stopped; start it with `privatellm scale demo/demo --replicas 1 "
                "--kubeconfig {kubeconfig}`."
            ),
        ),
        (
            Ended.KEY,
            (
                "The demo's key is revoked; order the demo anew with `privatellm delete demo/demo "
                "--tokens --kubeconfig {kubeconfig}` and `privatellm up --state {state}`."
            ),
        ),
    ],
)
async def test_a_demo_that_its_user_ended_is_one_line_with_the_way_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ended: Ended,
    line: str,
) -> None:
    """Nothing has failed; where the environment is and how to use it is said as always."""
    paths = StatePaths(tmp_path)
    supervisor = SupervisorStatus(supervisor=identity.myself(), started_at=NOW)

    async def up(*_: object) -> Running:
        return Running(paths, plan_for(1), supervisor, was_running=False, demo_ended=ended)

    monkeypatch.setattr(environment, "up", up)
    await starting.bring_up(Options(paths, CachePaths(tmp_path)), SilentProgress())

    said = capsys.readouterr().out
    assert said.startswith("Private LLM is ready.\n")
    wanted = line.format(kubeconfig=paths.kubeconfig("admin"), state=tmp_path)
    assert wanted in said.splitlines()
    assert "Use it from a shell:" in said
    assert "Question:" not in said
