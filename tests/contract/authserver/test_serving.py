"""Our HTTP server against the times of what is around it: the edge that asks, and the pod that ends."""

import asyncio
import re
from pathlib import Path

import httpx

from auth_edge import idle_seconds
from privatellm.telemetry import otlp
from privatellm_authserver.asgi import Receive, Scope, Send
from privatellm_authserver.serving import GRACE_SECONDS, listen, make_server
from privatellm_authserver.supervisor import STOP_SECONDS

SOON = 20.0
ANSWER_SECONDS = 0.5
"""How long the slow application takes: far longer than the check ever does, and in time for any stop."""
CHARTS = Path(__file__).parents[3] / "charts"
DEPLOYMENT = CHARTS / "private-llm-operator/templates/authserver/deployment.yaml"


class Slow:
    """An application whose answers take a while.

    Attributes:
        asked: Set when there is a question.
    """

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer slowly."""
        self.asked.set()
        await asyncio.sleep(ANSWER_SECONDS)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def test_who_was_asking_when_we_stop_gets_an_answer() -> None:
    """And nobody who asks later: the port is closed by then."""
    app = Slow()
    server = make_server(app)
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    async with asyncio.timeout(SOON), httpx.AsyncClient(timeout=SOON) as http:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        asking = asyncio.create_task(http.get(url))
        await app.asked.wait()
        server.should_exit = True

        assert (await asking).status_code == 204
        await serving
    assert listener.fileno() == -1


def test_an_idle_connection_outlives_the_edges_patience() -> None:
    """Otherwise we would close one on which Traefik is about to ask, and its customer gets an error."""
    patience = make_server(Slow()).config.timeout_keep_alive

    assert patience > idle_seconds() + SOON


def test_a_stop_takes_less_time_than_the_pod_has() -> None:
    """The workers' time, ours, and that of the last spans; the edge's time to notice comes before."""
    [grace] = re.findall(
        r"terminationGracePeriodSeconds: {{ add (\d+) \(int .Values.authserver.drainSeconds\) }}",
        DEPLOYMENT.read_text(),
    )

    assert GRACE_SECONDS < STOP_SECONDS
    assert int(grace) > STOP_SECONDS + GRACE_SECONDS + otlp.CLOSE_SECONDS
