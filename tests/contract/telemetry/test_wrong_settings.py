"""Wrong variables of OpenTelemetry, handed to the programs as they are deployed."""

import subprocess
import sys
from pathlib import Path

import pytest

from auth_service import environment_for

SECRET = "sesame-open"
PROGRAMS = {
    "operator": ("privatellm_operator.main",),
    "ForwardAuth service": ("privatellm_authserver.main",),
    "sync agent": (
        "privatellm_sync_agent.main",
        "--namespace=system",
        "--apiexportendpointslice-ref=llm",
    ),
}
WRONG = {
    "batches": (
        {"OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "100"},
        "got 100 and 10",
    ),
    "protocol": ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, "got 'http/json'"),
    "endpoint": ({"OTEL_EXPORTER_OTLP_ENDPOINT": "nonsense"}, "got 'nonsense'"),
    "certificate": ({"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nope"}, "got '/nope'"),
    "headers": (
        {"OTEL_EXPORTER_OTLP_HEADERS": f"authorization Bearer {SECRET}"},
        "OTEL_EXPORTER_OTLP_HEADERS is a list",
    ),
}


def say(program: tuple[str, ...], environ: dict[str, str], tmp_path: Path) -> str:
    """Start a program in a wrong environment, and return what it says before it gives up."""
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", *program]
    if "sync" in program[0]:
        command.append(f"--kcp-kubeconfig={kubeconfig}")
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}

    ended = subprocess.run(
        command,
        env=environment_for(kubeconfig, tmp_path) | endpoint | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    said = ended.stdout + ended.stderr
    assert ended.returncode == 2, said
    assert len(said.splitlines()) == 1
    return said


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
@pytest.mark.parametrize(("environ", "sentence"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_variable_ends_the_start_with_one_sentence(
    program: tuple[str, ...], environ: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    """And with the exit code that says that another start would not help; no worker was started."""
    said = say(program, environ, tmp_path)

    assert sentence in said
    assert SECRET not in said


@pytest.mark.parametrize("name", ["operator", "ForwardAuth service"])
def test_a_log_level_that_is_none_is_named_by_its_variable(name: str, tmp_path: Path) -> None:
    """Logs cannot be set up with it, so this is said before."""
    said = say(PROGRAMS[name], {"PRIVATE_LLM_LOG_LEVEL": "loud"}, tmp_path)

    assert "PRIVATE_LLM_LOG_LEVEL" in said
    assert "'debug', 'info'" in said
