"""A model hub on loopback that gives the documented answers of Hugging Face's metadata API."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

COMMIT = "52e7645ba7c309695bec7ac98f4f005b139cf465"
SHA256 = "9fecc3b3cd76bba89d504f29b616eedf7da85b96540e490ca5824d3f7d2776a0"
SIZE = 668788096
REPO = "owner/name"


def answer(commit: str = COMMIT, sha256: str = SHA256) -> dict[str, Any]:
    """Return what the hub says about a revision: weights are in LFS, the text beside them is not."""
    pointer = {"sha256": sha256, "size": SIZE, "pointerSize": 135}
    return {
        "_id": "65e06ed3a45ef0b3d8c1f000",
        "id": REPO,
        "modelId": REPO,
        "sha": commit,
        "private": False,
        "gated": False,
        "siblings": [
            {"rfilename": "README.md", "size": 1521, "blobId": "a" * 40},
            {"rfilename": "q4/model.gguf", "size": SIZE, "blobId": "b" * 40, "lfs": pointer},
        ],
    }


@dataclass
class Hub:
    """Answers by path; a status stands for an error, a text that begins with a slash for a redirect."""

    url: str = ""
    answers: dict[str, dict[str, Any] | int | str | bytes] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def tells(self, revision: str, told: dict[str, Any] | int | str | bytes) -> None:
        """Set what is answered about a revision of the repository."""
        self.answers[f"/api/models/{REPO}/revision/{revision}"] = told


@contextmanager
def running() -> Iterator[Hub]:
    """Run a hub that knows one repository, at `main` and at its commit."""
    hub = Hub()
    hub.tells("main", answer())
    hub.tells(COMMIT, answer())
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        @override
        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

        def do_GET(self) -> None:
            """Answer about a revision."""
            url = urlsplit(self.path)
            hub.asked.append((self.path, dict(self.headers.items())))
            told = hub.answers.get(unquote(url.path), 404)
            if isinstance(told, int):
                self._send(told, b'{"error": "no"}')
            elif isinstance(told, str):
                self._send(307, b"", {"Location": told})
            else:
                self._send(200, told if isinstance(told, bytes) else json.dumps(told).encode())

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler
