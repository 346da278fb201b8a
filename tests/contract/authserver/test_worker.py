"""A worker as its supervisor sees it: one process, a channel, and what it tells over that."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from auth_api_server import api_server
from auth_service import environment_for
from auth_world import PLATFORM_KEY, Key, make_key, question_for
from eventually import eventually
from privatellm_authserver.feed import FeedHealth
from privatellm_authserver.index import EntryReader, TokenIndex
from privatellm_authserver.metrics import Meter
from privatellm_authserver.reports import LONGEST_REPORT, Report
from privatellm_authserver.serving import listen
from privatellm_authserver.supervisor import worker_command
from privatellm_authserver.traces import SpanNotes
from privatellm_authserver.worker import Reporter

SOON = 60.0
TRACEPARENT = b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-01"


@dataclass
class Worker:
    """A worker whose channel we hold.

    Attributes:
        url: Where it answers.
        reader: What it tells.
        writer: How it is told to end.
        reports: What it has told so far.
    """

    url: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    reports: list[Report] = field(default_factory=list)

    async def until_confirmed(self) -> None:
        """Wait for the report that its index is confirmed."""
        while not (self.reports and self.reports[-1].confirmed_at):
            self.reports.append(Report.from_line(await self.reader.readline()))

    async def ask(self, key: Key) -> int:
        """Ask as Traefik does for a request whose trace is kept."""
        headers = [*question_for(key), (b"traceparent", TRACEPARENT)]
        async with httpx.AsyncClient() as http:
            return (await http.get(self.url, headers=headers)).status_code

    async def end(self) -> None:
        """Tell it to end, and hear what it says until then."""
        self.writer.write_eof()
        async for line in self.reader:
            self.reports.append(Report.from_line(line))


@asynccontextmanager
async def working(environment: dict[str, str]) -> AsyncIterator[Worker]:
    """Run one worker until the block ends."""
    ours, theirs = socket.socketpair()
    with listen("127.0.0.1", 0) as listener, theirs:
        port, passed = listener.getsockname()[1], (listener.fileno(), theirs.fileno())
        process = await asyncio.create_subprocess_exec(
            *worker_command(0, *passed), env=environment, pass_fds=passed
        )
    reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_REPORT)
    try:
        yield Worker(f"http://127.0.0.1:{port}/auth/verify", reader, writer)
    finally:
        writer.close()
        assert await asyncio.wait_for(process.wait(), SOON) == 0


async def test_a_worker_tells_what_it_counted_before_it_ends(tmp_path: Path) -> None:
    """Requests of its last second are counted, used keys named, and kept traces told, like all others."""
    key = make_key()
    async with api_server() as api:
        await api.change("ADDED", key.secret)
        environment = environment_for(api.write_kubeconfig(tmp_path / "kubeconfig"), tmp_path)
        traces = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
        async with asyncio.timeout(SOON), working(environment | traces) as worker:
            await worker.until_confirmed()
            statuses = [await worker.ask(key) for _ in range(3)]
            await worker.end()

    assert statuses == [200, 200, 200]
    assert sum(report.uses.get(key.token.key_id, 0) for report in worker.reports) == 3
    assert worker.reports[-1].totals.decisions["allowed"] == 3
    spans = [span for report in worker.reports for span in report.spans]
    assert [(s.traceparent.encode(), s.decision) for s in spans] == [(TRACEPARENT, "allowed")] * 3


async def test_the_last_report_of_a_worker_arrives_whole() -> None:
    """Although its supervisor reads it late: the end of a process waits for nothing that is on its way."""
    ours, theirs = socket.socketpair()
    # What the kernel takes at once is far less than the report, and that far less than a buffer of asyncio.
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    _, writer = await asyncio.open_connection(sock=theirs)
    keys = [b"key%09d" % number for number in range(2_000)]
    finishing = asyncio.create_task(reporter_of(keys, writer).finish())

    async def stuck() -> bool:
        return writer.transport.get_write_buffer_size() > 0

    await eventually(stuck, within=SOON, what="a full channel")
    assert not finishing.done()
    reader, other = await asyncio.open_connection(sock=ours)
    said = await asyncio.wait_for(reader.read(), SOON)
    await asyncio.wait_for(finishing, SOON)
    other.close()

    assert Report.from_line(said).uses == {key.decode(): 1 for key in keys}


def reporter_of(uses: list[bytes], writer: asyncio.StreamWriter) -> Reporter:
    """Return the reporter of a worker whose keys were used so often."""
    index, meter = TokenIndex(EntryReader(PLATFORM_KEY), max_staleness=60.0), Meter()
    for key_id in uses:
        meter.used(key_id)
    return Reporter(index, meter, SpanNotes(), FeedHealth(), writer)
