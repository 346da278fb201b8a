"""A real llama.cpp server with real weights, started as the host node does."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from privatellm_local.demo.model import CHAT_TEMPLATE

KEY = "backend-key-of-the-test"
START_SECONDS = 60
ENDLESS = {
    "prompt": "Once upon a time",
    "max_tokens": 200,
    "temperature": 0,
    "stream": True,
    "ignore_eos": True,
}
"""A completion that the model cannot end early."""


@dataclass(frozen=True)
class Running:
    """A model server of the test."""

    process: subprocess.Popen[bytes]
    url: str

    def client(self, key: str | None = KEY) -> httpx.Client:
        """Make a client that presents this key."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)


@contextmanager
def running(model: Path, directory: Path) -> Iterator[Running]:
    """Run a model server with the arguments of a Deployment until the context ends."""
    key_file = directory / "api-key"
    key_file.write_text(KEY)
    with socket.create_server(("127.0.0.1", 0)) as finder:
        port = finder.getsockname()[1]
    argv = ["--model", str(model), "--host", "127.0.0.1"]
    argv += ["--port", str(port), "--alias", "gemma-3-270m", "--metrics"]
    argv += ["--api-key-file", str(key_file), "--no-webui", "--no-slots", "--threads", "1"]
    argv += ["--poll", "0", "--parallel", "2", "--ctx-size", "2048", "--jinja"]
    argv += ["--chat-template", CHAT_TEMPLATE]
    process = subprocess.Popen(
        [sys.executable, "-m", "privatellm_local.modelserver", *argv],
        env={**os.environ, "PATH": ""},
    )
    try:
        server = Running(process, f"http://127.0.0.1:{port}")
        _wait_until_healthy(server)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait_until_healthy(server: Running) -> None:
    deadline = time.monotonic() + START_SECONDS
    with server.client(key=None) as client:
        while time.monotonic() < deadline and server.process.poll() is None:
            try:
                if client.get("/health").status_code == httpx.codes.OK:
                    return
            except httpx.ConnectError:
                pass
            threading.Event().wait(0.05)
    pytest.fail("the model server did not become healthy")
