"""What edge, operator and host node rely on, seen on a real llama.cpp with real weights.

These tests start `python -m privatellm_local.modelserver` as the host node does and talk HTTP.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from privatellm_local.demo.question import QUESTION as DEMO_QUESTION
from privatellm_local.demo.question import request_body
from real_model_server import ENDLESS, KEY, Running, running

QUESTION = request_body(DEMO_QUESTION, stream=False)
STOP_SECONDS = 60
LONGEST_BODY = 100 * 2**20


@pytest.fixture(scope="module")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Share one server between the tests that leave it as it is."""
    with running(model, tmp_path_factory.mktemp("server")) as started:
        yield started


def test_the_model_goes_by_its_alias(server: Running) -> None:
    """Clients see the catalogue's name, never a file's path."""
    with server.client() as client:
        listed = client.get("/v1/models").json()

    assert [entry["id"] for entry in listed["data"]] == ["gemma-3-270m"]


@pytest.mark.parametrize(
    "key", [None, "another-key"], ids=["without a key", "with another instance's key"]
)
def test_nothing_but_health_answers(server: Running, key: str | None) -> None:
    """Whoever reaches the pod past the edge gets nothing."""
    with server.client(key) as client:
        codes = {
            "/health": client.get("/health").status_code,
            "/v1/models": client.get("/v1/models").status_code,
            "/metrics": client.get("/metrics").status_code,
            "/v1/chat/completions": client.post("/v1/chat/completions", json=QUESTION).status_code,
        }

    assert codes == {
        "/health": 200,
        "/v1/models": 401,
        "/metrics": 401,
        "/v1/chat/completions": 401,
    }


def test_a_body_has_a_bound(server: Running) -> None:
    """The edge has none, so this is what a customer's request can be at most."""
    with server.client() as client:
        answer = client.post("/v1/chat/completions", content=b" " * (LONGEST_BODY + 1))

    assert answer.status_code == 413


@pytest.mark.parametrize(("path", "code"), [("/", 404), ("/index.html", 404), ("/slots", 501)])
def test_web_ui_and_slots_are_not_served(server: Running, path: str, code: int) -> None:
    """Slots would show one user's prompt to another, even behind the right key."""
    with server.client() as client:
        assert client.get(path).status_code == code


def test_the_model_answers_a_question(server: Running) -> None:
    """The base model answers because the catalogue's few-shot template makes it one."""
    with server.client() as client:
        answer = client.post("/v1/chat/completions", json=QUESTION).json()

    assert answer["choices"][0]["message"]["content"].strip() == "Paris."
    assert answer["model"] == "gemma-3-270m"


def test_an_answer_streams(server: Running) -> None:
    """Chunks arrive as server-sent events that end with [DONE]."""
    with (
        server.client() as client,
        client.stream(
            "POST", "/v1/chat/completions", json={**QUESTION, "stream": True}
        ) as response,
    ):
        events = [line.removeprefix("data: ") for line in response.iter_lines() if line]

    deltas = [json.loads(event)["choices"][0]["delta"] for event in events[:-1]]
    assert events[-1] == "[DONE]"
    assert "".join(delta.get("content") or "" for delta in deltas).strip() == "Paris."


def test_a_stream_ends_its_connection_without_a_word(server: Running) -> None:
    """HTTP says that it is kept; so the edge must keep none (ADR 90). When this fails, it may again."""
    client = HTTPConnection(urlsplit(server.url).netloc, timeout=30)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    client.request(
        "POST", "/v1/chat/completions", json.dumps({**QUESTION, "stream": True}), headers
    )
    with closing(client), client.getresponse() as answer:
        body = answer.read()
        announced, promised = answer.will_close, answer.headers["Keep-Alive"]
        # Sooner than the time for which it says that it keeps an idle one.
        client.sock.settimeout(4)
        behind = client.sock.recv(1)

    assert body.rstrip().endswith(b"data: [DONE]")
    assert (announced, promised) == (False, "timeout=5, max=100")
    assert behind == b""


def test_a_stream_is_finished_before_the_server_leaves(model: Path, tmp_path: Path) -> None:
    """SIGTERM in the middle of a stream does not cut it, and the exit code is 0."""
    with (
        running(model, tmp_path) as stopping,
        stopping.client() as client,
        client.stream("POST", "/v1/completions", json=ENDLESS) as response,
    ):
        lines = response.iter_lines()
        first = next(line for line in lines if line)
        stopping.process.send_signal(signal.SIGTERM)
        rest = [line for line in lines if line]
        code = stopping.process.wait(STOP_SECONDS)

    assert first.startswith("data: {")
    assert rest[-1] == "data: [DONE]"
    assert json.loads(rest[-2].removeprefix("data: "))["choices"][0]["finish_reason"] == "length"
    assert code == 0


def test_an_idle_server_leaves_within_a_second_or_two(model: Path, tmp_path: Path) -> None:
    """Rolling an unused instance does not wait for its grace period."""
    with running(model, tmp_path) as stopping:
        stopping.process.send_signal(signal.SIGTERM)

        assert stopping.process.wait(5) == 0


def test_a_second_signal_cuts_the_drain_short(model: Path, tmp_path: Path) -> None:
    """An impatient Ctrl-C is obeyed although a stream is running."""
    endless = {**ENDLESS, "max_tokens": 100_000}
    with (
        running(model, tmp_path) as stopping,
        stopping.client() as client,
        client.stream("POST", "/v1/completions", json=endless) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        stopping.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            stopping.process.wait(1)
        stopping.process.send_signal(signal.SIGINT)

        assert stopping.process.wait(5) == 0
