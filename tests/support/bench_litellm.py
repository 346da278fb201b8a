"""LiteLLM's proxy beside our edge: installed from its locked requirements, and run without a database.

It gets a virtual environment of its own below the user's cache directory, made once for each content of
``requirements/bench-litellm.txt``. Its master key is the only key: virtual keys, which are what it would
compare with our tokens by, need a PostgreSQL. So what is measured is its lightest set-up.

It is kept from asking anybody outside: its price list and the like are read from the package, and what else
it may want to reach is sent to a proxy where nobody listens.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bare_servers import free_port
from eventually import eventually
from privatellm_local.paths import cache_paths

REQUIREMENTS = Path(__file__).parents[2] / "requirements/bench-litellm.txt"
DONE = "installed"
"""The file that says that its environment is complete."""

MASTER_KEY = "sk-of-the-bench"
START_SECONDS = 300.0
"""It starts in ten seconds on a quiet machine, and in minutes on a busy one."""

NOBODY = "http://127.0.0.1:9"
"""A proxy that answers to nobody: port 9 is for discarding."""

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_LOG": "ERROR",
    "LITELLM_MODE": "PRODUCTION",
    "DISABLE_ADMIN_UI": "True",
    "HTTP_PROXY": NOBODY,
    "HTTPS_PROXY": NOBODY,
}


def version() -> str:
    """Return the locked version."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("litellm==")).split("==")[1].split()[0]


def _venv() -> Path:
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    return cache_paths().root / f"bench-litellm-{digest}"


def is_installed() -> bool:
    """Say whether it is there already."""
    return (_venv() / DONE).exists()


def installed() -> Path:
    """Return the directory of its programs; the first call takes a minute or two."""
    venv = _venv()
    done = venv / DONE
    if not done.exists():
        # pip of the Python that runs us may be missing in its environment; uv is among our tools.
        uv = str(Path(sys.executable).with_name("uv"))
        python = str(venv / "bin" / "python")
        locked = ["--require-hashes", "--only-binary=:all:", "-r", str(REQUIREMENTS)]
        _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(venv)])
        _run([uv, "pip", "install", "--quiet", "--python", python, *locked])
        done.touch()
    return venv / "bin"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)


def configuration(backends: Mapping[str, tuple[str, str]]) -> str:
    """Return the proxy's configuration; JSON is YAML.

    Args:
        backends: Base URL and key of the OpenAI-compatible server behind each model name.
    """
    models = [
        {
            "model_name": name,
            "litellm_params": {"model": f"openai/{name}", "api_base": url, "api_key": key},
        }
        for name, (url, key) in backends.items()
    ]
    return json.dumps(
        {
            "model_list": models,
            "general_settings": {"master_key": MASTER_KEY},
            "litellm_settings": {"num_retries": 0, "request_timeout": 600},
        }
    )


@contextmanager
def _running(command: list[str], directory: Path, hosts: Iterable[str]) -> Iterator[int]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), **QUIET}
    environment["NO_PROXY"] = ",".join(hosts)
    with (
        (directory / "litellm.log").open("wb") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as child,
    ):
        try:
            yield child.pid
        finally:
            child.terminate()


@asynccontextmanager
async def proxy(
    backends: Mapping[str, tuple[str, str]], directory: Path
) -> AsyncIterator[tuple[int, int]]:
    """Run the proxy with one worker for the length of the block; yield its port and process id.

    Args:
        backends: Base URL and key of the server behind each model name.
        directory: Where its configuration and its log go.
    """
    port, config = free_port(), directory / "litellm.yaml"
    config.write_text(configuration(backends))
    where = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    program = str(installed() / "litellm")
    command = [program, *where, "--num_workers", "1", "--telemetry", "False"]
    hosts = {str(urlsplit(url).hostname) for url, _ in backends.values()}
    with _running(command, directory, sorted(hosts)) as pid:
        await _until_alive(port)
        yield port, pid


async def _until_alive(port: int) -> None:
    async def alive() -> bool:
        try:
            async with httpx.AsyncClient(trust_env=False) as http:
                url = f"http://127.0.0.1:{port}/health/liveliness"
                return (await http.get(url)).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    await eventually(alive, within=START_SECONDS, what="LiteLLM's proxy")
