import json
from pathlib import Path

import pytest
import yaml

from privatellm_cli import main as cli
from privatellm_cli.exit_codes import ExitCode

COMMANDS = [
    ["models"],
    ["list", "-A"],
    ["get", "chat"],
    ["describe", "chat"],
    ["logs", "chat"],
    ["deploy", "chat", "--model", "phi-2"],
    ["scale", "chat", "--replicas", "2"],
    ["delete", "chat"],
    ["env", "chat"],
    ["chat", "chat", "-m", "Hello"],
    ["bench", "chat"],
    ["doctor"],
    ["token", "list"],
    ["token", "create", "chat"],
    ["token", "rotate", "key"],
    ["token", "rotate", "--all", "--yes"],
    ["token", "revoke", "key"],
]
"""Every command that needs a cluster."""


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig that leads to a port nobody listens on."""
    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_cluster_that_is_not_there_is_one_line_and_code_nine(
    command: list[str], nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For every command alike, and without a traceback."""
    code = cli.main([*command, "--kubeconfig", str(nowhere)])

    written = capsys.readouterr()
    assert code == ExitCode.CLUSTER
    assert written.out == ""
    assert written.err.startswith("error: The cluster at http://127.0.0.1:1 cannot be reached")
    assert written.err.count("\n") == 1


def test_an_unknown_context_is_one_line_too(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the context."""
    code = cli.main(["list", "--kubeconfig", str(nowhere), "--context", "prod"])

    written = capsys.readouterr().err
    assert code == ExitCode.CLUSTER
    assert "prod" in written
    assert written.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["deploy", "chat"], "--model"),
        (["deploy", "chat", "--model", "m", "--replicas", "-1"], "--replicas"),
        (["scale", "chat"], "--replicas"),
        (["list", "-o", "xml"], "xml"),
        (["get"], "NAME"),
        (["logs"], "--component"),
        (["logs", "chat", "--component", "etcd"], "--component"),
        (["logs", "--component", "etcd", "-n", "2"], "--lines"),
        (["logs", "--component", "etcd", "-c", "x"], "--component"),
        (["logs", "chat", "--state", "/x"], "--state"),
        (["env", "-n", "acme"], "INSTANCE"),
        (["env", "chat", "--state", "/x", "--context", "y"], "--state"),
        (["bench", "chat", "--concurrency", "0"], "1 to 256"),
        (["token", "create", "chat", "--env", "--json"], "--json"),
        (["token", "create", "chat", "--overlap", "1h"], "--rotate-every"),
        (["token", "rotate"], "--all"),
        (["token", "rotate", "key", "--all"], "--all"),
        (["token", "rotate", "--all", "--json"], "--all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_makes_no_sense_is_refused_before_a_cluster_is_asked(
    command: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names the option."""
    code = cli.main(command)

    written = capsys.readouterr().err
    assert code == ExitCode.USAGE
    assert named in written
    assert written.count("\n") == 1


def test_errors_never_mix_with_what_programs_read(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output stays empty when there is nothing true to print."""
    cli.main(["list", "-o", "json", "--kubeconfig", str(nowhere)])

    with pytest.raises(json.JSONDecodeError):
        json.loads(capsys.readouterr().out)
