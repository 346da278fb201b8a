"""What the bench of the edge runs: an embedded environment, and three ways to a model server.

* ``direct``: the client asks the model server itself;
* ``edge``: through Traefik and the ForwardAuth service, as customers do;
* ``litellm``: through LiteLLM's proxy, one worker, its master key, no database.

Behind all three is the same server: either the real one of the demo, or one that answers at once.
"""

import asyncio
import base64
import json
import secrets
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import bench_litellm
import embedded
from bench_machine import cpu_seconds, family
from customer import MODEL, Credentials, read_credentials
from edge_route import MIDDLEWARES, PORT, led_elsewhere, own_chain
from eventually import eventually
from privatellm.api.llm_model import LLMModel
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import backend_key_name, child_name, token_secret_name
from privatellm_local.demo import names as demo
from privatellm_local.paths import StatePaths
from privatellm_local.platform.facts import SYSTEM_NAMESPACE
from privatellm_local.platform.rbac import tenant_binding
from privatellm_local.processes.status import read_living
from privatellm_operator.render.middlewares import chain_name

FAST, REAL = "fast", "real"
BENCH = Path(__file__).parents[1] / "bench"
NO_LIMIT = 10**9
IDLE_CONNECTIONS = 200
"""What Traefik keeps for each server unless it is told otherwise."""

SERVERS_TRANSPORT = Kind(
    "traefik.io", "v1alpha1", "ServersTransport", "serverstransports", namespaced=True
)
COMPLETIONS = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Target:
    """One way to a model server.

    Attributes:
        host: Where to connect.
        port: The port.
        path: Path of the chat completions.
        key: The bearer token.
        model: What the request calls the model.
        parts: Processes that stand on this way, by name, the server itself left out.
    """

    host: str
    port: int
    path: str
    key: str
    model: str
    parts: Mapping[str, int]

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time of each part so far, with its child processes."""
        return {name: sum(map(cpu_seconds, family(pid))) for name, pid in self.parts.items()}


Ways = dict[str, dict[str, Target]]
"""Each way to each model server, by the server and by the way."""


@asynccontextmanager
async def ways(state: Path | None, directory: Path) -> AsyncIterator[Ways]:
    """Start everything that is needed and yield the ways.

    Args:
        state: A running environment with the demo, which is left running; ``None`` starts one.
        directory: For files of this run.
    """
    async with AsyncExitStack() as stack:
        environment = stack.enter_context(_environment(state, directory / "env"))
        client = await stack.enter_async_context(await KubeClient.connect(environment.kubeconfig))
        edge = _edge_processes(environment.state)
        found = {
            FAST: await stack.enter_async_context(_fast(client, edge)),
            REAL: await stack.enter_async_context(_real(client, edge)),
        }
        backends = {
            name: (f"http://{there['direct'].host}:{there['direct'].port}/v1", there["direct"].key)
            for name, there in found.items()
        }
        port, pid = await stack.enter_async_context(bench_litellm.proxy(backends, directory))
        for name, there in found.items():
            key = bench_litellm.MASTER_KEY
            there["litellm"] = Target("127.0.0.1", port, COMPLETIONS, key, name, {"LiteLLM": pid})
        yield found


@contextmanager
def _environment(state: Path | None, fresh: Path) -> Iterator[embedded.Environment]:
    if state is not None:
        yield embedded.Environment(state)
        return
    started = embedded.start(fresh)
    try:
        yield started
    finally:
        embedded.stop(started)


def _edge_processes(state: Path) -> dict[str, int]:
    """Return Traefik and the ForwardAuth service's processes."""
    status = read_living(StatePaths(state))
    assert status is not None
    everything = tuple(family(status.supervisor.pid))
    return {
        "Traefik": _running(everything, "traefik"),
        "ForwardAuth service": _running(
            everything, "privatellm-authserver", "privatellm_authserver"
        ),
    }


def _running(pids: tuple[int, ...], *programs: str) -> int:
    """Return the first of these processes whose command line names one of these programs."""
    for pid in pids:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        if any(program in Path(word).name for word in line[:4] for program in programs):
            return pid
    raise AssertionError(f"none of {programs} runs in the environment")


@asynccontextmanager
async def _fast(client: KubeClient, edge: Mapping[str, int]) -> AsyncIterator[dict[str, Target]]:
    """Lead an instance of our own to a server that answers at once, without any limit."""
    namespace = f"bench-{secrets.token_hex(4)}"
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.create(kinds.NAMESPACE, manifest)
    try:
        await client.create(kinds.ROLE_BINDING, tenant_binding(namespace))
        await client.create(SERVERS_TRANSPORT, _keeping_connections(namespace))
        unlimited = {"requests_per_minute": NO_LIMIT, "concurrent_requests": NO_LIMIT}
        async with (
            own_chain(client, address_requests_per_second=0, **unlimited) as chain,
            led_elsewhere(client, namespace, FAST, chain=chain, transport=FAST) as way,
            _backend(way.host, await _backend_key(client, namespace, FAST)) as direct,
        ):
            yield {"direct": direct, "edge": _through_the_edge(way.credentials, FAST, edge)}
    finally:
        await client.delete(kinds.NAMESPACE, namespace)


def _keeping_connections(namespace: str) -> Manifest:
    """Return a transport as Traefik has it by default.

    The embedded environment's opens a connection for each request, and a loaded machine runs out of ports.
    """
    return {
        "apiVersion": SERVERS_TRANSPORT.api_version,
        "kind": SERVERS_TRANSPORT.name,
        "metadata": {"name": FAST, "namespace": namespace},
        "spec": {"maxIdleConnsPerHost": IDLE_CONNECTIONS},
    }


@asynccontextmanager
async def _backend(host: str, key: str) -> AsyncIterator[Target]:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, str(BENCH / "edge_backend.py"), f"--host={host}", f"--port={PORT}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(f"{key}\n".encode())
        where = json.loads(await child.stdout.readline())
        yield Target(where["host"], where["port"], COMPLETIONS, key, FAST, {})
    finally:
        child.kill()
        await child.wait()


@asynccontextmanager
async def _real(client: KubeClient, edge: Mapping[str, int]) -> AsyncIterator[dict[str, Target]]:
    """Return the ways to the demo's instance and its real model server, without any limit."""
    credentials = await read_credentials(
        client, demo.NAMESPACE, token_secret_name(demo.TOKEN_REQUEST)
    )
    pods = await client.list(kinds.POD, demo.NAMESPACE)
    address = next(p["status"]["podIP"] for p in pods.items if p["status"]["phase"] == "Running")
    key = await _backend_key(client, demo.NAMESPACE, demo.INSTANCE)
    unlimited = {"requestsPerMinute": NO_LIMIT, "concurrentRequests": NO_LIMIT}
    await _limit(client, unlimited)
    try:
        yield {
            "direct": Target(address, 8000, COMPLETIONS, key, MODEL, {}),
            "edge": _through_the_edge(credentials, MODEL, edge),
        }
    finally:
        await _limit(client, None)


async def _limit(client: KubeClient, limits: Mapping[str, int] | None) -> None:
    """Give the demo's model limits of its own, and wait until the instance's route goes by them."""
    await client.patch(kinds.LLM_MODEL, MODEL, None, {"spec": {"limits": limits}})
    parsed = LLMModel.parse(await client.get(kinds.LLM_MODEL, MODEL) or {})
    chain = f"{SYSTEM_NAMESPACE}_{chain_name(parsed)}@kubernetescrd"

    async def led() -> bool:
        ingress = await client.get(kinds.INGRESS, child_name(demo.INSTANCE), demo.NAMESPACE)
        return bool(ingress and ingress["metadata"]["annotations"][MIDDLEWARES] == chain)

    await eventually(led, within=30, what="a route that goes by the model's limits")


def _through_the_edge(credentials: Credentials, model: str, edge: Mapping[str, int]) -> Target:
    url = urlsplit(credentials.base_url)
    assert url.hostname
    assert url.port
    path = f"{url.path}/chat/completions"
    return Target(url.hostname, url.port, path, credentials.api_key, model, edge)


async def _backend_key(client: KubeClient, namespace: str, instance: str) -> str:
    secret = await client.get(kinds.SECRET, backend_key_name(instance), namespace)
    assert secret is not None
    return base64.b64decode(secret["data"]["api-key"]).decode()
