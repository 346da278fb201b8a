"""The service as it is run: a supervisor, workers, real sockets, signals and crashes."""

import asyncio
import json
import os
import re
import resource
import signal
import time
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from auth_api_server import SERVICE_ACCOUNT_TOKEN, ApiServer, api_server
from auth_service import Service, environment_for, running, start, starting
from auth_world import PLATFORM_KEY, Key, make_key, question_for
from eventually import eventually
from privatellm_authserver import clocks
from privatellm_authserver.main import MISTAKEN
from privatellm_operator.last_use import LastUseReport
from privatellm_operator.observing.usage import PodCounts

SOON = 20.0
WORKER_SECONDS = 60.0
"""In which a worker begins, on a busy machine."""


def alive(pids: list[int]) -> list[int]:
    """Return the processes that still exist."""
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with api_server() as server:
        yield server


@pytest.fixture
def environment(api: ApiServer, tmp_path: Path) -> dict[str, str]:
    found = environment_for(api.write_kubeconfig(tmp_path / "kubeconfig"), tmp_path)
    return found | {"PRIVATE_LLM_WORKERS": "2"}


@pytest.fixture
async def service(environment: dict[str, str], tmp_path: Path) -> AsyncIterator[Service]:
    async with running(environment, tmp_path / "log") as started:
        yield started


async def test_every_worker_follows_the_verifiers(api: ApiServer, service: Service) -> None:
    """Two workers, one port: a key works on both, and stops working on both."""
    key = make_key()
    await api.change("ADDED", key.secret)
    await service.until(key, "allowed")
    await api.change("DELETED", key.secret)
    await service.until(key, "revoked_api_key")

    assert len(service.workers()) == 2


async def test_metrics_and_last_use_cover_all_workers(api: ApiServer, service: Service) -> None:
    """Whichever worker answered, the numbers are on the admin port within a heartbeat."""
    key = make_key()
    await api.change("ADDED", key.secret)
    for _ in range(20):
        await service.ask(key)

    async def counted() -> bool:
        text = (await service.get("/metrics")).text
        found = re.findall(r'decisions_total\{reason="(?:allowed|invalid_api_key)"\} (\S+)', text)
        return sum(map(float, found)) == 20

    await eventually(counted, within=SOON)
    assert list((await service.get("/last-used")).json()["lastUsed"]) == [key.token.key_id]


async def test_the_operator_reads_what_the_service_counted(
    api: ApiServer, service: Service
) -> None:
    """With its own words for it, over both workers; and whether every key is in the answer."""
    key = make_key()
    await api.change("ADDED", key.secret)
    await service.until(key, "allowed")

    async def told(uses: str) -> PodCounts | None:
        answer = await service.get(f"/last-used?uses={uses}")
        counts = LastUseReport.model_validate_json(answer.content).counts
        return counts if counts and counts.uses.get(key.token.key_id, 0) >= 12 else None

    recent = await eventually(lambda: told("recent"), within=SOON, what="counts")
    every = await eventually(lambda: told("all"), within=SOON, what="counts of all keys")
    assert recent is not None
    assert every is not None
    assert (recent.is_whole, every.is_whole) == (False, True)
    assert recent.since == every.since


async def test_the_end_of_a_key_is_told_when_every_worker_refuses_it(
    api: ApiServer, service: Service
) -> None:
    """With the time at which the last one began to; the operator measures the lag by it."""
    key = make_key()
    await api.change("ADDED", key.secret)
    await service.until(key, "allowed")
    ended = time.time()
    await api.change("DELETED", key.secret)

    async def told() -> bool:
        return bool((await service.get("/last-used")).json()["refusedSince"])

    await eventually(told, within=SOON)
    since = (await service.get("/last-used")).json()["refusedSince"]
    assert list(since) == [key.token.key_id]
    assert 0 <= datetime.fromisoformat(since[key.token.key_id]).timestamp() - ended < SOON


@pytest.mark.parametrize("level", ["info", "debug"])
async def test_no_secret_is_logged_by_the_whole_service(
    api: ApiServer, environment: dict[str, str], tmp_path: Path, level: str
) -> None:
    """Neither a key nor its hash, neither a backend key nor the service's own token, at any level."""
    key = make_key()
    await api.change("ADDED", key.secret)
    changed = environment | {"PRIVATE_LLM_LOG_LEVEL": level}
    async with running(changed, tmp_path / "log") as service:
        await service.until(key, "allowed")
        # What is noted about failures is searched as well.
        await api.set_fault("break")
        await eventually(lambda: watches(api, 0), within=SOON, what="the end of watches")
        await api.set_fault("gone")
        await eventually(lambda: relisted(api), within=SOON, what="a second list")
        await api.set_fault("none")
        await api.change("DELETED", key.secret)
        await service.until(key, "revoked_api_key")
    log = service.log.read_text()

    assert key.token.key_id in log
    assert ('"level": "debug"' in log) is (level == "debug")
    stored = key.secret["data"]["hash"]
    hidden = (key.token.secret, stored, b64decode(stored).decode(), PLATFORM_KEY._text)
    for secret in (*hidden, PLATFORM_KEY.backend_key(key.uid), SERVICE_ACCOUNT_TOKEN):
        assert secret not in log


async def watches(api: ApiServer, number: int) -> bool:
    """Return whether so many watches are open that may still be told something."""
    return api.open_watches == number


async def relisted(api: ApiServer) -> bool:
    """Return whether one of the two workers has read the whole list more than once."""
    return api.lists > 2


async def test_a_worker_that_dies_is_replaced(service: Service) -> None:
    """Meanwhile the pod is not ready, and the other worker answers."""
    victim, survivor = service.workers()
    key = make_key()

    os.kill(victim, signal.SIGKILL)

    async def noticed() -> bool:
        return (await service.get("/readyz")).status_code == 503

    await eventually(noticed, within=SOON)
    assert (await service.ask(key)).status_code == 401
    await service.until_ready()
    workers = service.workers()
    assert survivor in workers
    assert len(workers) == 2
    assert 'worker_restarts_total{worker="0"}' in (await service.get("/metrics")).text


async def test_a_worker_that_cannot_be_replaced_yet_leaves_the_others_answering(
    service: Service,
) -> None:
    """A supervisor without a free descriptor goes on, and starts the worker once it has some."""
    supervisor, (victim, survivor) = service.process.pid, service.workers()
    limits = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (free_descriptor(supervisor), limits[1]))
    os.kill(victim, signal.SIGKILL)

    async def noticed() -> bool:
        return "worker cannot be started" in service.log.read_text()

    await eventually(noticed, within=SOON, what="a failed start")
    assert (await service.ask(make_key())).status_code == 401
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, limits)
    await service.until_ready()

    assert survivor in service.workers()
    assert len(service.workers()) == 2


def free_descriptor(pid: int) -> int:
    """Return the number that the next descriptor of a process would get."""
    used = {int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    return min(set(range(len(used) + 1)) - used)


class Asker:
    """Asks with one key all the time, and remembers what came of it.

    Attributes:
        statuses: How many answers had which status.
        broken: Questions that a dead worker left without an answer.
    """

    def __init__(self, service: Service, key: Key, *, keeps_alive: bool) -> None:
        self.statuses = Counter[int]()
        self.broken = 0
        self._url = f"{service.verify}/auth/verify"
        self._headers = {name.decode(): value.decode() for name, value in question_for(key)}
        limits = httpx.Limits(max_keepalive_connections=None if keeps_alive else 0)
        self._http = httpx.AsyncClient(limits=limits, timeout=WORKER_SECONDS)

    async def run(self) -> None:
        """Ask until cancelled."""
        async with self._http as http:
            while True:
                try:
                    answer = await http.get(self._url, headers=self._headers)
                except httpx.TransportError:
                    self.broken += 1
                else:
                    self.statuses[answer.status_code] += 1

    async def hears(self, answers: int) -> None:
        """Wait for more answers."""
        wanted = self.statuses.total() + answers

        async def heard() -> bool:
            return self.statuses.total() >= wanted

        await eventually(heard, within=WORKER_SECONDS, what=f"{answers} answers")


async def test_the_successor_of_the_only_worker_refuses_no_good_key(
    api: ApiServer, environment: dict[str, str], tmp_path: Path
) -> None:
    """Who asks before its index is filled waits for that; only what the dead worker had breaks."""
    key = make_key()
    await api.change("ADDED", key.secret)
    async with running(environment | {"PRIVATE_LLM_WORKERS": "1"}, tmp_path / "log") as service:
        askers = [Asker(service, key, keeps_alive=keeps) for keeps in (True, False)]
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(asker.run()) for asker in askers]
            await asyncio.gather(*(asker.hears(10) for asker in askers))
            await api.set_fault("hold")
            os.kill(service.workers()[0], signal.SIGKILL)
            await eventually(lambda: lists_held(api, 1), within=WORKER_SECONDS, what="a list")
            before = [asker.statuses.total() for asker in askers]
            # Time enough for an answer out of an empty index, and too little for the worker's patience.
            await asyncio.wait(asking, timeout=1.0)
            meanwhile = [asker.statuses.total() for asker in askers]
            await api.set_fault("none")
            await asyncio.gather(*(asker.hears(10) for asker in askers))
            for task in asking:
                task.cancel()

        assert meanwhile == before
        assert {status for asker in askers for status in asker.statuses} == {200}
        assert [asker.broken <= 1 for asker in askers] == [True, True]


async def lists_held(api: ApiServer, number: int) -> bool:
    """Return whether so many lists wait."""
    return api.held_lists == number


async def test_a_worker_that_waits_for_its_index_ends_when_it_is_told(
    api: ApiServer, environment: dict[str, str], tmp_path: Path
) -> None:
    """In good order, although it never took a connection."""
    await api.set_fault("hold")
    hurried = environment | {"PRIVATE_LLM_DRAIN_SECONDS": "0"}
    async with starting(hurried, tmp_path / "log") as service:
        await eventually(lambda: lists_held(api, 2), within=WORKER_SECONDS, what="both lists")
        service.process.send_signal(signal.SIGTERM)

        assert await asyncio.wait_for(service.process.wait(), SOON) == 0
    assert "worker is killed" not in (tmp_path / "log").read_text()


async def test_workers_end_with_their_supervisor(service: Service) -> None:
    """However it died, and quietly: an orphan would answer from an index that nobody watches over."""
    workers = service.workers()

    service.process.kill()
    await service.process.wait()

    async def gone() -> bool:
        return not alive(workers)

    await eventually(gone, within=SOON)
    assert "Traceback" not in service.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_drains(service: Service, number: signal.Signals) -> None:
    """Not ready at once, still answering for a while, then a clean end."""
    workers = service.workers()
    key = make_key()

    service.process.send_signal(number)

    async def draining() -> bool:
        return "shutting down" in (await service.get("/readyz")).text

    await eventually(draining, within=SOON)
    assert (await service.ask(key)).status_code == 401
    assert await asyncio.wait_for(service.process.wait(), SOON) == 0
    assert not alive(workers)


async def say(service: Service, text: bytes) -> list[bytes]:
    """Send raw bytes and return the statuses of the answers until the service closes."""
    host, port = service.verify.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(text)
    answer = await asyncio.wait_for(reader.read(), SOON)
    writer.close()
    return re.findall(rb"HTTP/1.1 (\d+)", answer)


async def test_requests_in_a_pipeline_are_answered_in_order(service: Service) -> None:
    """One connection, three requests at once."""
    one = b"GET /auth/verify HTTP/1.1\r\nHost: a\r\n\r\n"
    other = one.replace(b"/auth/verify", b"/slots")
    last = one.replace(b"Host: a", b"Host: a\r\nConnection: close")

    assert await say(service, one + other + last) == [b"401", b"404", b"401"]


@pytest.mark.parametrize(
    "nonsense", [b"NONSENSE\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n"]
)
async def test_nonsense_is_a_bad_request_and_no_log_line(service: Service, nonsense: bytes) -> None:
    """It ends its own connection and nothing else."""
    before = service.log.read_text()

    assert await say(service, nonsense) == [b"400"]
    assert service.log.read_text() == before
    assert (await service.ask(make_key())).status_code == 401


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("PUBLIC_HOST", "http://x", "PUBLIC_HOST"),
        ("PRIVATE_LLM_PLATFORM_KEY_FILE", "/nowhere/key", "platform key"),
        ("PRIVATE_LLM_BIND_HOST", "192.0.2.1", "cannot be listened on"),
    ],
)
async def test_what_cannot_work_ends_the_start_with_one_sentence(
    environment: dict[str, str], tmp_path: Path, variable: str, value: str, complaint: str
) -> None:
    """A line that says what to change, and no traceback; JSON as soon as the settings say how to log."""
    service = await start(environment | {variable: value}, tmp_path / "log")

    assert await asyncio.wait_for(service.process.wait(), SOON) == MISTAKEN
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert complaint in line
    if variable != "PUBLIC_HOST":
        assert json.loads(line)["event"] == "cannot start"


async def test_a_port_in_use_is_reported(
    service: Service, environment: dict[str, str], tmp_path: Path
) -> None:
    """A second service on the same ports does not share them by accident."""
    second = await start(environment, tmp_path / "second")

    assert await asyncio.wait_for(second.process.wait(), SOON) == MISTAKEN
    assert "choose another port" in (tmp_path / "second").read_text()


async def test_nobody_is_let_in_before_the_first_list(
    api: ApiServer, environment: dict[str, str], tmp_path: Path
) -> None:
    """A service that starts while the API server is away says 503, and is ready by itself afterwards."""
    key = make_key()
    await api.change("ADDED", key.secret)
    await api.set_fault("refuse")
    async with starting(environment, tmp_path / "log") as service:
        await service.until_answering(key)
        answers = [await service.ask(key) for _ in range(12)]
        readiness = await service.get("/readyz")

        assert {(a.status_code, a.headers.get("retry-after")) for a in answers} == {(503, "5")}
        assert {a.json()["error"]["code"] for a in answers} == {"service_unavailable"}
        assert readiness.status_code == 503

        await api.set_fault("none")
        await service.until_ready()
        await service.until(key, "allowed")


BOUND = 6.0
"""Seconds; long enough that a busy machine confirms the index in time, short enough to wait for."""


async def test_a_black_holed_watch_is_answered_by_503_in_time(
    api: ApiServer, environment: dict[str, str], tmp_path: Path
) -> None:
    """The connection looks alive, but nobody is let in who asks later than the bound allows."""
    staleness = {"PRIVATE_LLM_MAX_STALENESS_SECONDS": str(BOUND), "PRIVATE_LLM_WORKERS": "1"}
    key, last = make_key(), make_key()
    await api.change("ADDED", key.secret)
    async with running(environment | staleness, tmp_path / "log") as service:
        await outlive_the_bound(api, service, key)
        await api.change("ADDED", last.secret)
        await eventually(lambda: opens(service, last), within=SOON, what="the last word")
        # What was said is heard, and the watch is not about to end: nothing that confirms is under way.
        await eventually(lambda: watches(api, 1), within=SOON, what="an open watch")
        await api.set_fault("silent")
        since = clocks.uptime()

        asked: list[tuple[float, int]] = []

        async def refused() -> bool:
            at = clocks.uptime() - since
            answer = await service.ask(key)
            asked.append((at, answer.status_code))
            return "retry-after" in answer.headers

        await eventually(refused, within=BOUND + SOON, what="a refusal")

        assert [at for at, status in asked if status == 200 and at > BOUND] == []
        assert {status for _, status in asked} <= {200, 503}
        assert await service.outcomes(key) == {"service_unavailable"}
        assert (await service.get("/readyz")).status_code == 503


async def outlive_the_bound(api: ApiServer, service: Service, key: Key) -> None:
    """Wait until a key opens although the list is older than the bound: bookmarks keep it fresh."""
    began = clocks.uptime()

    async def outlived() -> bool:
        await api.bookmark()
        return await opens(service, key) and clocks.uptime() - began > BOUND

    await eventually(outlived, within=BOUND + SOON, what="a key that outlives the bound")


async def opens(service: Service, key: Key) -> bool:
    """Return whether a key is let in."""
    return (await service.ask(key)).status_code == 200
