"""What the parts of a process are given: whom they ask about the Lease, and whom they tell of keys."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from aiohttp import web
from kubernetes.aio.client import Configuration
from typing_extensions import override

from operator_objects import settings
from privatellm import labels
from privatellm.backend_keys import PlatformKey
from privatellm.errors import UnavailableError
from privatellm.kube import Listing, Manifest, kinds
from privatellm.kube.credentials import Credentials
from privatellm.kube.fence import NOT_LEADING, FencedClient
from privatellm.kube.kinds import Kind
from privatellm.kube.lease import Lease
from privatellm.telemetry import passes
from privatellm_operator.process import OperatorProcess, lease_settings
from privatellm_operator.queue import Key
from privatellm_operator.settings import LastUseSettings
from telemetry_parts import samples

KEY_ID = "abcdefghijkl"
NOWHERE = "http://127.0.0.1:1"
TOKENS = "private-llm-tokens"


class Cluster(FencedClient):
    """An API server that has one Lease, which is to be had, and one pod of the ForwardAuth service."""

    @override
    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Manifest | None:
        return None

    @override
    async def create(self, kind: Kind, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        return manifest

    @override
    async def list(
        self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> Listing:
        pod = {"status": {"podIP": "127.0.0.1", "phase": "Running"}}
        return Listing((pod,), resource_version="1")


class Started:
    """A process that knows one key, beside a ForwardAuth service whose counts the test chooses."""

    def __init__(self, client: FencedClient, port: int) -> None:
        self.now, self.uses = 0.0, 0
        chosen = settings(last_use=LastUseSettings(port=port))
        self.lease = Lease(client, lease_settings(chosen), clock=lambda: self.now)
        key = PlatformKey.of("k" * 32)
        self.process = OperatorProcess(chosen, key, client, client, self.lease)
        self.context = self.process._context
        for kind, manifest in ((kinds.API_TOKEN_REQUEST, REQUEST), (kinds.SECRET, VERIFIER)):
            self.context.world[kind].put(manifest)

    async def poll(self, uses: int) -> None:
        """Let the process ask once how often the key was used."""
        self.uses = uses
        await self.process._last_use.poll()

    def figure(self, name: str) -> float:
        """Return the sum of what the process exposes by a name."""
        text = self.process._metrics.text()
        return sum(sample.value for sample in samples(text) if sample.name == name)


REQUEST: Manifest = {
    "metadata": {"name": "key", "namespace": "acme", "uid": "r1", "resourceVersion": "1"},
    "spec": {"instanceName": "chat"},
}
VERIFIER: Manifest = {
    "metadata": {
        "name": f"v-{KEY_ID}",
        "namespace": TOKENS,
        "resourceVersion": "2",
        "labels": {labels.REQUEST_UID: "r1", labels.INSTANCE_UID: "i1"},
    }
}


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    """A process whose parts are put together and that does nothing by itself."""
    told: list[Started] = []

    async def tell(_request: web.Request) -> web.Response:
        return web.json_response(
            {
                "lastUsed": {},
                "uses": {KEY_ID: told[0].uses},
                "allUses": True,
                "countingSince": "2026-11-30T08:00:00Z",
            }
        )

    app = web.Application()
    app.router.add_get("/last-used", tell)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with Cluster(Credentials(None, Configuration(host=NOWHERE))) as client:
        told.append(Started(client, runner.addresses[0][1]))
        yield told[0]
    await runner.cleanup()


async def test_uses_are_counted_only_while_nobody_else_can_lead(started: Started) -> None:
    """Whoever leads then counts them from there on."""
    await started.lease.acquire()
    await started.poll(2)
    await started.poll(5)
    assert started.figure("private_llm_key_requests_total") == 3

    started.now += 16
    await started.poll(9)

    assert started.figure("private_llm_key_requests_total") == 3


async def test_passes_write_only_while_nobody_else_can_lead(started: Started) -> None:
    """What is sent otherwise never reaches the network."""
    reasons: list[str | None] = []
    for acquire in (False, True):
        if acquire:
            await started.lease.acquire()
        with pytest.raises(UnavailableError) as refused:
            await started.context.client.delete(kinds.SECRET, "s", "acme")
        reasons.append(refused.value.reason)

    assert reasons[0] == NOT_LEADING
    assert reasons[1] != NOT_LEADING


async def test_a_process_says_that_it_leads_only_while_nobody_else_can(started: Started) -> None:
    """Without anybody telling it that its Lease ran out."""
    await started.lease.acquire()
    assert started.figure("private_llm_leading") == 0
    started.process._readiness.lead()
    assert started.figure("private_llm_leading") == 1

    started.now += 16

    assert started.figure("private_llm_leading") == 0


async def test_the_end_of_a_key_is_measured_from_the_pass_that_ended_it(started: Started) -> None:
    """The passes' journal and who hears of refusals look at the same keys."""
    names = {"k8s.namespace.name": TOKENS, "private_llm.object.name": f"v-{KEY_ID}"}
    with (
        started.process._journal.frame(Key(kinds.API_TOKEN_REQUEST, "acme", "key")),
        passes.step("delete secrets", **names),
    ):
        pass

    started.context.revocations.hear("pod", {KEY_ID: datetime.now(UTC)})

    assert started.figure("private_llm_revocation_lag_seconds_count") == 1
