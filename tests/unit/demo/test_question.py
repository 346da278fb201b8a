"""How the demo asks, against a real HTTP server that plays the edge."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from privatellm_local.demo import DemoCredentials, DemoError, ask, curl_line

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
KEY = "pllm_key_secret"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two questions nothing changes here that would need time."""
    monkeypatch.setattr("privatellm_local.demo.question.PAUSE_SECONDS", 0.0)


class Edge:
    """A scripted edge that records what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.base_url = ""

    @property
    def credentials(self) -> DemoCredentials:
        """Credentials for this edge."""
        return DemoCredentials(f"{self.base_url}/v1", self.base_url, KEY)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Record a request and answer it; the last answer repeats."""
        self.bodies.append(await request.json())
        self.keys.append(request.headers.get("Authorization"))
        chosen = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await chosen(request)


@asynccontextmanager
async def running(*answers: Answer) -> AsyncIterator[Edge]:
    """Run an edge on a free port."""
    edge = Edge(*answers)
    application = web.Application()
    application.router.add_post("/llm/slug/v1/chat/completions", edge.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    edge.base_url = f"http://127.0.0.1:{port}/llm/slug"
    try:
        yield edge
    finally:
        await runner.cleanup()


def says(*pieces: str) -> Answer:
    """Stream an answer in pieces, with the comments and blank pieces that servers send."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b": ping\n\n")
        for delta in ({"role": "assistant", "content": None}, *({"content": p} for p in pieces)):
            event = {"choices": [{"delta": delta}]}
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
        await response.write(b'data: {"choices": [], "usage": {}}\n\ndata: [DONE]\n\n')
        return response

    return answer


def refuses(status: int, text: str = "") -> Answer:
    """Answer with a status."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text)

    return answer


async def test_the_answer_is_put_together_from_its_pieces() -> None:
    """The request streams, is greedy and ends with the line, as the base model needs."""
    async with running(says(" Par", "is", ".")) as edge:
        assert await ask(edge.credentials, "What is the capital of France?") == "Paris."

    assert edge.keys == [f"Bearer {KEY}"]
    body = edge.bodies[0]
    assert (body["stream"], body["temperature"], body["stop"]) == (True, 0, ["\n"])
    assert body["messages"] == [{"role": "user", "content": "What is the capital of France?"}]


@pytest.mark.parametrize("status", [401, 404, 502, 503, 504])
async def test_an_edge_that_has_not_caught_up_is_asked_again(status: int) -> None:
    """Route, key and pod arrive at the edge a moment after the order is ready."""
    async with running(refuses(status), refuses(status), says("Paris.")) as edge:
        assert await ask(edge.credentials, "?") == "Paris."
    assert len(edge.bodies) == 3


async def test_patience_with_the_edge_ends() -> None:
    """What was answered last is in the message."""
    async with running(refuses(503, "no server is ready")) as edge:
        with pytest.raises(DemoError, match="HTTP 503: no server is ready"):
            await ask(edge.credentials, "?", patience_seconds=0.0)


async def test_nobody_at_the_edge_is_an_error_as_well() -> None:
    """A connection that is refused ends in the same sentence."""
    async with running(says("x")) as edge:
        pass
    with pytest.raises(DemoError, match=r"no answer at http://127\.0\.0\.1"):
        await ask(edge.credentials, "?", patience_seconds=0.0)


@pytest.mark.parametrize("status", [400, 403, 429, 500])
async def test_any_other_refusal_is_final(status: int) -> None:
    """Asking again would not change it."""
    async with running(refuses(status, '{"error": "why"}')) as edge:
        with pytest.raises(DemoError, match=f"HTTP {status}: .*why"):
            await ask(edge.credentials, "?")
    assert len(edge.bodies) == 1


async def test_silence_is_not_an_answer() -> None:
    """A demo that prints nothing has failed."""
    async with running(says()) as edge:
        with pytest.raises(DemoError, match="said nothing"):
            await ask(edge.credentials, "?")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        pytest.param('data: {"error": {"message": "context is full"}}', "context is full"),
        pytest.param("data: {broken", "no JSON"),
        pytest.param("data: " + "[" * 4000, "no JSON"),
    ],
    ids=["an error in the stream", "no JSON", "nested too deeply"],
)
async def test_a_broken_stream_is_reported(line: str, named: str) -> None:
    """An error after the status has been sent is not lost."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"{line}\n\n", content_type="text/event-stream")

    async with running(answer) as edge:
        with pytest.raises(DemoError, match=named):
            await ask(edge.credentials, "?")


def test_the_key_is_not_shown() -> None:
    """Credentials may end up in a traceback."""
    assert KEY not in repr(DemoCredentials("http://edge/v1", "http://edge", KEY))


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
async def test_the_curl_line_works_when_pasted() -> None:
    """A shell with the two exports sends exactly the question, quotes included, and ends its line."""
    question = 'What\'s the "capital" of $FRANCE?'
    async with running(refuses(200, "Paris.")) as edge:
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", curl_line(question)),
            env={
                "PATH": "/usr/bin:/bin:/usr/local/bin",
                "OPENAI_BASE_URL": edge.credentials.base_url,
                "OPENAI_API_KEY": KEY,
            },
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()

    assert printed == b"Paris.\n"
    assert edge.keys == [f"Bearer {KEY}"]
    assert edge.bodies[0]["messages"][0]["content"] == question
    assert edge.bodies[0]["stop"] == ["\n"]
    assert "stream" not in edge.bodies[0]
