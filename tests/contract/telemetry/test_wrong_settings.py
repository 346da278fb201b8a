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


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
@pytest.mark.parametrize(("environ", "sentence"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_variable_ends_the_start_with_one_sentence(
    program: tuple[str, ...], environ: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    """And with the exit code that says that another start would not help; no worker was started."""
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
    assert sentence in said
    assert SECRET not in said
