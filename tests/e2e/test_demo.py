"""The newcomer's path: ``make demo`` on a fresh state, as a person with two minutes would.

The installation that it begins with finds its work done here; that it does the work in a fresh clone is a
deep test's matter.
"""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
import yaml

import docs_shell
import embedded
from docs_pages import ROOT, Page

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(45 * 60)]

PARIS = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[embedded.Environment, str]]:
    """An environment that ``make demo`` brought up from nothing, and what it printed."""
    home = tmp_path_factory.mktemp("demo")
    environment = embedded.Environment(home / "private-llm")
    printed = docs_shell.typed("make demo", home, timeout=embedded.UP_DEADLINE_SECONDS)
    yield environment, printed
    embedded.stop(environment)


@pytest.fixture(scope="module")
def secret(demo: tuple[embedded.Environment, str]) -> dict[str, str]:
    """The three keys of the demo's token Secret, read with kubectl."""
    environment, _ = demo
    raw = subprocess.run(
        [
            Path(sys.executable).with_name("kubectl"),
            *("-n", "demo", "get", "secret", "demo-token", "-o", "yaml"),
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "KUBECONFIG": str(environment.kubeconfig)},
    )
    data = yaml.safe_load(raw.stdout)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def test_the_demo_prints_a_completion_and_what_to_do_next(
    demo: tuple[embedded.Environment, str],
) -> None:
    """As the README shows it, then the exports, a curl line, and how to look and stop."""
    _, printed = demo
    shown = {docs_shell.comparable(line) for line in printed.splitlines()}
    (block,) = (text for _, text in Page(ROOT / "README.md").blocks() if "Question:" in text)
    promised = {docs_shell.comparable(line) for line in block.splitlines()}

    assert promised <= shown
    for promise in ("privatellm env", "curl", "privatellm status", "privatellm down"):
        assert promise in printed


def test_the_secret_holds_three_keys_that_fit_the_exports(
    demo: tuple[embedded.Environment, str], secret: dict[str, str]
) -> None:
    """The Secret is all the configuration that the OpenAI SDKs need."""
    environment, _ = demo
    exports = environment.exports()

    assert set(secret) == {"OPENAI_API_KEY", "OPENAI_API_URL", "OPENAI_BASE_URL"}
    assert exports["OPENAI_API_KEY"] == secret["OPENAI_API_KEY"]
    assert exports["OPENAI_BASE_URL"] == secret["OPENAI_BASE_URL"]
    assert secret["OPENAI_BASE_URL"] == secret["OPENAI_API_URL"] + "/v1"


def test_the_official_client_completes_a_chat(
    secret: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``openai.OpenAI()`` needs nothing but the Secret's keys in its environment."""
    for name, value in secret.items():
        monkeypatch.setenv(name, value)

    with openai.OpenAI() as client:
        answer = client.chat.completions.create(
            model="gemma-3-270m", messages=PARIS, temperature=0, max_tokens=24, stop="\n"
        )

    assert "Paris" in (answer.choices[0].message.content or "")


def test_the_official_client_streams_a_chat(
    secret: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer arrives in pieces through Traefik."""
    for name, value in secret.items():
        monkeypatch.setenv(name, value)

    with openai.OpenAI() as client:
        stream = client.chat.completions.create(
            model="gemma-3-270m",
            messages=[{"role": "user", "content": "Say hello in five words."}],
            temperature=0,
            max_tokens=24,
            stop="\n",
            stream=True,
        )
        pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]

    assert len([piece for piece in pieces if piece]) > 1
    assert "Hello" in "".join(pieces)


def test_the_curl_line_works_when_pasted(demo: tuple[embedded.Environment, str]) -> None:
    """Exports and curl line are pasted into a shell, as printed."""
    environment, printed = demo
    start = printed.index("curl ")
    line = printed[start:].split("\n\n", maxsplit=1)[0]

    pasted = subprocess.run(
        ["bash", "-c", line],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment.exports()},
        timeout=120,
    )

    assert "Paris" in pasted.stdout


def test_up_on_a_running_environment_changes_nothing_and_says_so(
    demo: tuple[embedded.Environment, str],
) -> None:
    """The second ``up`` returns 0 and leaves every process as it was."""
    environment, _ = demo
    before = embedded.privatellm("status", "-o", "json", "--state", str(environment.state)).stdout

    again = embedded.privatellm("up", "--detach", "--state", str(environment.state))

    after = embedded.privatellm("status", "-o", "json", "--state", str(environment.state)).stdout
    assert again.code == 0, again.stderr
    assert "already" in again.stdout
    assert _pids(before) == _pids(after)


def test_the_exports_of_the_cluster_outlive_the_demo(
    demo: tuple[embedded.Environment, str],
) -> None:
    """Only the last test comes after this one, because it deletes the demo."""
    environment, _ = demo
    before = environment.exports()
    at_it = ("--state", str(environment.state))
    cluster = ("--kubeconfig", str(environment.kubeconfig))
    assert embedded.privatellm("delete", "demo/demo", *cluster).code == 0

    outcome = embedded.privatellm("env", *at_it)
    named = embedded.privatellm("env", "demo/demo", *at_it)

    assert outcome.code == 0, outcome.stderr
    assert environment.exports() == {
        name: before[name] for name in ("KUBECONFIG", "PRIVATE_LLM_URL")
    }
    assert "There is no LLMInstance demo in the namespace demo" in outcome.stderr
    assert "privatellm env NAMESPACE/NAME" in outcome.stderr
    assert (named.code, named.stdout) == (9, "")


def test_the_lines_of_the_readme_look_stop_and_delete(
    demo: tuple[embedded.Environment, str],
) -> None:
    """As printed below "Try it", on an environment that orders its demo anew; nothing runs in the end."""
    environment, _ = demo
    lines = [command for command, _ in Page(ROOT / "README.md").transcript("Try it")]
    assert lines[0] == "make demo"

    printed = docs_shell.typed("\n".join(lines), environment.state.parent, timeout=300)

    assert f"ready in {environment.state}" in printed
    assert "LLMInstance demo/demo deleted." in printed
    stopped = embedded.privatellm("status", "--state", str(environment.state))
    assert (stopped.code, stopped.stdout.split()[0]) == (8, "stopped")


def _pids(status: str) -> dict[str, int]:
    return {part["name"]: part["pid"] for part in yaml.safe_load(status)["components"]}
