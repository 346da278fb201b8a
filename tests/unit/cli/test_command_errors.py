import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
import yaml
from typing_extensions import override

import cli_calls
from cli_calls import Call
from privatellm_cli import main as cli
from privatellm_cli import reference
from privatellm_cli.application import application
from privatellm_cli.exit_codes import ExitCode

COMMANDS = dict(reference.commands(typer.main.get_command(application()), "privatellm"))


def _config(directory: Path, server: str) -> Path:
    """Write a kubeconfig that leads to a server."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig that leads to a port nobody listens on."""
    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
    return _config(tmp_path, "http://127.0.0.1:1")


class _Refusing(BaseHTTPRequestHandler):
    """Answers what every command asks first as an API server answers an expired token."""

    def do_GET(self) -> None:
        """Refuse."""
        said = {"kind": "Status", "status": "Failure", "message": "Unauthorized", "code": 401}
        body = json.dumps(said | {"apiVersion": "v1", "reason": "Unauthorized"}).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, *_: object) -> None:
        """Say nothing on the test's standard error."""


@pytest.fixture
def expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A kubeconfig whose token the API server takes no more."""
    monkeypatch.delenv(cli.DEBUG_VARIABLE, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield _config(tmp_path, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        serving.join()


def test_no_command_is_without_its_error_cases() -> None:
    """Whoever adds one adds it to the table, too."""
    asked = {f"privatellm {call.command}" for call in cli_calls.IN_CLUSTER}
    of_the_machine = {f"privatellm {name}" for name in cli_calls.OF_THE_MACHINE}

    assert asked | of_the_machine == set(COMMANDS)
    assert not asked & of_the_machine


@pytest.mark.parametrize("call", cli_calls.IN_CLUSTER, ids=lambda call: call.id)
def test_an_expired_token_of_the_cluster_is_one_line_and_code_nine(
    call: Call, expired: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to renew; only the doctor says more than that it cannot see anything."""
    code = cli.main([*call.words, "--kubeconfig", str(expired)])

    written = capsys.readouterr()
    assert code == ExitCode.CLUSTER
    assert written.out == ""
    assert written.err.startswith("error: The cluster at http://127.0.0.1:")
    assert "kubeconfig" in written.err
    assert written.err.count("\n") == 1


@pytest.mark.parametrize("call", cli_calls.IN_CLUSTER, ids=lambda call: call.id)
def test_a_cluster_that_is_not_there_is_one_line_and_code_nine(
    call: Call, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For every command alike, and without a traceback."""
    code = cli.main([*call.words, "--kubeconfig", str(nowhere)])

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
        (["token", "create", "chat", "--env", "-o", "yaml"], "-o"),
        (["token", "rotate", "key", "--json", "-o", "json"], "-o"),
        (["token", "create", "chat", "--overlap", "1h"], "--rotate-every"),
        (["token", "rotate"], "--all"),
        (["token", "rotate", "key", "--all"], "--all"),
        (["token", "rotate", "--all", "--json"], "--all"),
        (["doctor", "--state", "/x"], "--kubeconfig DIR/kubeconfigs/admin.kubeconfig"),
        (["list", "--state", "/x"], "--kubeconfig DIR/kubeconfigs/admin.kubeconfig"),
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
