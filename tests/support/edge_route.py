"""An instance whose path leads to a recording backend, through real Traefik and the chain of middlewares.

The instance is stopped, so that no model server runs; a second Ingress of the same path wins by its
priority and leads to a Service whose address belongs to the test. Everything in front of the backend is
what an instance has.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import edge_wire
from customer import Credentials, ask_for_key, order
from edge_wire import Answer
from eventually import eventually
from leaks import leaks_in
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.tokens import Token
from privatellm_local.platform.facts import SYSTEM_NAMESPACE
from privatellm_operator.render import middlewares
from privatellm_operator.settings import EdgeSettings, Settings
from recorder import Recorder, recording

PORT = 8001
MIDDLEWARES = "traefik.ingress.kubernetes.io/router.middlewares"
TRANSPORT = "traefik.ingress.kubernetes.io/service.serverstransport"
PRIORITY = "traefik.ingress.kubernetes.io/router.priority"


@dataclass(frozen=True, slots=True)
class Route:
    """The way to a recorder, and a key that opens it."""

    credentials: Credentials
    recorder: Recorder
    host: str
    port: int

    @property
    def path(self) -> str:
        """The instance's path."""
        return urlsplit(self.credentials.url).path

    @property
    def slug(self) -> str:
        """The instance's slug."""
        return self.path.rpartition("/")[2]

    @property
    def authority(self) -> str:
        """What an honest client sends as ``Host``."""
        return f"{self.host}:{self.port}"

    @property
    def host_line(self) -> str:
        """The same as a header."""
        return f"Host: {self.authority}"

    @property
    def key_line(self) -> str:
        """The key as a header."""
        return f"Authorization: Bearer {self.credentials.api_key}"

    @property
    def key_id(self) -> str:
        """The public part of the key."""
        return self.credentials.api_key.split("_")[1]

    async def say(
        self, *lines: str, method: str = "GET", target: str | None = None, body: bytes = b""
    ) -> Answer:
        """Send a request with the key, to ``/v1/models`` unless told otherwise."""
        return await self.say_unsigned(
            self.key_line, *lines, method=method, target=target, body=body
        )

    async def say_unsigned(
        self, *lines: str, method: str = "GET", target: str | None = None, body: bytes = b""
    ) -> Answer:
        """Send a request with no more than the right host."""
        where = f"{self.path}/v1/models" if target is None else target
        return await self.raw(edge_wire.request(method, where, self.host_line, *lines, body=body))

    async def raw(self, content: bytes) -> Answer:
        """Send bytes; whatever comes back tells no secret."""
        answer = await edge_wire.exchange(self.host, self.port, content)
        secret = Token.parse(self.credentials.api_key).secret.encode()
        said = repr(answer.headers).encode() + answer.body
        assert leaks_in([("the answer", said)], frozenset({secret})) == []
        return answer


@dataclass(frozen=True, slots=True)
class Way:
    """A key, and where the requests go that it opens: to port :data:`PORT` of an address."""

    credentials: Credentials
    host: str


@asynccontextmanager
async def recorded_route(
    client: KubeClient, namespace: str, name: str, *, chain: str | None = None
) -> AsyncIterator[Route]:
    """Order an instance, ask for its key, and lead its path to a recorder.

    Args:
        client: An administrator's client.
        namespace: An onboarded namespace.
        name: The instance's name.
        chain: The chain of middlewares in the system namespace; the instance's own when absent.
    """
    async with led_elsewhere(client, namespace, name, chain=chain) as way:
        url = urlsplit(way.credentials.url)
        assert url.hostname
        assert url.port
        async with recording(way.host, PORT) as recorder:
            route = Route(way.credentials, recorder, url.hostname, url.port)

            async def recorded() -> bool:
                return (await route.say("Connection: close")).status == 200

            await eventually(recorded, within=20, what="the recorder's route")
            recorder.requests.clear()
            yield route


@asynccontextmanager
async def led_elsewhere(
    client: KubeClient,
    namespace: str,
    name: str,
    *,
    chain: str | None = None,
    transport: str | None = None,
) -> AsyncIterator[Way]:
    """Order a stopped instance, ask for its key, and lead its path to an address of the caller's.

    Args:
        client: An administrator's client.
        namespace: An onboarded namespace.
        name: The instance's name.
        chain: The chain of middlewares in the system namespace; the instance's own when absent.
        transport: A ServersTransport of the namespace for Traefik's connections there; else the platform's.
    """
    await order(client, namespace, name, phase="Stopped", replicas=0)
    credentials = await ask_for_key(client, namespace, name, name)
    service = await client.create(kinds.SERVICE, _service(namespace, name, transport))
    ingress = await client.get(kinds.INGRESS, f"{name}-llama", namespace)
    assert ingress is not None
    await client.create(kinds.INGRESS, _winning(ingress, service, chain))
    yield Way(credentials, service["spec"]["clusterIP"])
    await client.delete(kinds.INGRESS, service["metadata"]["name"], namespace)


@asynccontextmanager
async def own_chain(client: KubeClient, **edge: Any) -> AsyncIterator[str]:
    """Create a chain as the operator would with other settings, and yield its name.

    Args:
        client: An administrator's client.
        edge: Settings of the edge.
    """
    live = await client.get(kinds.MIDDLEWARE, f"{middlewares.PREFIX}-auth", SYSTEM_NAMESPACE)
    assert live is not None
    address = live["spec"]["forwardAuth"]["address"].removesuffix("/auth/verify")
    settings = Settings(edge=EdgeSettings(auth_address=address, **edge))
    prefix = f"test-{secrets.token_hex(4)}"
    async with AsyncExitStack() as stack:
        for manifest in middlewares.build_all(settings, ()):
            renamed = _renamed(manifest, prefix)
            await client.create(kinds.MIDDLEWARE, renamed)
            name = renamed["metadata"]["name"]
            stack.push_async_callback(client.delete, kinds.MIDDLEWARE, name, SYSTEM_NAMESPACE)
        yield prefix


def _renamed(manifest: Manifest, prefix: str) -> Manifest:
    """Return a copy under another name, without the labels by which the operator knows its own."""

    def name(text: str) -> str:
        return text.replace(middlewares.PREFIX, prefix, 1)

    spec = manifest["spec"]
    if "chain" in spec:
        links = [{"name": name(link["name"])} for link in spec["chain"]["middlewares"]]
        spec = {"chain": {"middlewares": links}}
    metadata = {"name": name(manifest["metadata"]["name"]), "namespace": SYSTEM_NAMESPACE}
    return manifest | {"metadata": metadata, "spec": spec}


def _service(namespace: str, name: str, transport: str | None) -> Manifest:
    chosen = {TRANSPORT: f"{namespace}_{transport}@kubernetescrd"} if transport else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": f"{name}-recorder",
            "namespace": namespace,
            "annotations": chosen,
        },
        # Without a selector the host node leaves the cluster IP to the test.
        "spec": {"ports": [{"name": f"r-{secrets.token_hex(4)}", "port": PORT}]},
    }


def _winning(ingress: Manifest, service: Manifest, chain: str | None) -> Manifest:
    """Return a copy of an instance's Ingress that wins and leads to the recorder."""
    annotations = ingress["metadata"]["annotations"] | {PRIORITY: "9999"}
    if chain is not None:
        annotations[MIDDLEWARES] = f"{SYSTEM_NAMESPACE}_{chain}@kubernetescrd"
    name, port = service["metadata"]["name"], service["spec"]["ports"][0]["name"]
    rule = ingress["spec"]["rules"][0]
    backend = {"service": {"name": name, "port": {"name": port}}}
    path = rule["http"]["paths"][0] | {"backend": backend}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": name,
            "namespace": ingress["metadata"]["namespace"],
            "annotations": annotations,
        },
        "spec": ingress["spec"] | {"rules": [rule | {"http": {"paths": [path]}}]},
    }
