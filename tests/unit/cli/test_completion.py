"""What a shell offers after Tab, asked as bash asks it."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml

from privatellm_cli import main as cli
from privatellm_cli import plugin_completion, pod_logs, reference
from privatellm_cli.application import application
from privatellm_local.paths import StatePaths
from privatellm_operator.render.deployment import SERVER
from privatellm_operator.render.drain import DRAIN
from privatellm_operator.render.fetcher import FETCHER

Ask = Callable[..., list[str]]

FREE = {
    *("FILE", "[FILE]", "DIR"),  # Paths, which every shell completes by itself.
    *("N", "N,N", "T", "DURATION", "URL"),
    None,  # Text.
}
"""What stands for a value that nothing could offer."""


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Asks what may follow the words so far; the last one is unfinished."""

    def offered(*words: str) -> list[str]:
        monkeypatch.setenv("_PRIVATELLM_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(["privatellm", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit):
            cli.main([])
        return capsys.readouterr().out.split()

    return offered


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig with two contexts, of which none can be reached."""
    contexts = [
        {"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("prod", "test")
    ]
    path = tmp_path / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": contexts,
    }
    path.write_text(yaml.safe_dump(content))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def test_every_value_that_can_be_known_is_offered() -> None:
    """A new option with a name for its value needs a completion, or is named here as free."""
    root = typer.main.get_command(application())
    without = {
        f"{name} {parameter.opts[0]}"
        for name, command in reference.commands(root, "privatellm")
        for parameter in command.params
        if not getattr(parameter, "is_flag", False)
        and parameter.metavar not in FREE
        and parameter._custom_shell_complete is None
        and not parameter.type_descriptor.is_choice
    }

    assert without == {"privatellm token create --name"}


def test_commands_and_formats_are_offered(ask: Ask) -> None:
    """The parser knows them."""
    assert sorted(ask("de")) == ["delete", "deploy", "describe"]
    assert ask("list", "-o", "j") == ["json"]


def test_the_containers_of_a_server_are_offered(ask: Ask) -> None:
    """All that its pod has, by the names that the operator gives them."""
    assert ask("logs", "chat", "-c", "") == list(pod_logs.CONTAINERS)
    assert set(pod_logs.CONTAINERS) == {SERVER, FETCHER, DRAIN}


@pytest.mark.usefixtures("kubeconfig")
def test_the_contexts_of_the_kubeconfig_are_offered(ask: Ask) -> None:
    """Those that begin like the word so far; they need no cluster that answers."""
    assert ask("list", "--context", "") == ["prod", "test"]
    assert ask("list", "--context", "t") == ["test"]


def test_the_contexts_are_those_of_the_file_that_the_line_names(
    ask: Ask, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It wins over the environment's."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))

    assert ask("list", "--kubeconfig", str(kubeconfig), "--context", "p") == ["prod"]
    assert ask("list", "--context", "p") == []


def test_the_components_are_those_of_the_state_directory(ask: Ask, tmp_path: Path) -> None:
    """Those that have a log there."""
    logs = StatePaths(tmp_path).logs
    logs.mkdir()
    for name in ("etcd.log", "traefik.log", "traefik.log.1"):
        (logs / name).touch()

    assert ask("logs", "--state", str(tmp_path), "--component", "") == ["etcd", "traefik"]
    assert ask("logs", "--state", str(tmp_path / "absent"), "--component", "") == []


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        pytest.param(("list", "-o", "j"), "json\n:4\n", id="offers, and no files beside them"),
        pytest.param(("list", "--kubeconfig", ""), ":0\n", id="left to the shell"),
    ],
)
def test_the_kubectl_plugin_answers_as_kubectl_asks(
    words: tuple[str, ...],
    answer: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One offer a line, and what the shell shall do where there is none."""
    for variable in ("_PRIVATELLM_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(variable, "")

    assert plugin_completion.main(words) == 0
    assert capsys.readouterr().out == answer


@pytest.mark.usefixtures("kubeconfig")
@pytest.mark.parametrize(
    "words",
    [
        ("get", ""),
        ("get", "acme/"),
        ("token", "revoke", ""),
        ("deploy", "chat", "--model", ""),
        ("list", "-n", ""),
    ],
)
def test_a_cluster_that_does_not_answer_offers_nothing(ask: Ask, words: tuple[str, ...]) -> None:
    """No error disturbs the line that is being typed."""
    assert ask(*words) == []
