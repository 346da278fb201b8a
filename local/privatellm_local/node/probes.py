"""Asking containers whether they work, and their hooks, with the thresholds and periods of a kubelet.

``httpGet`` and ``tcpSocket`` are honoured. ``exec`` and ``grpc`` are refused before the container
starts: the first would run a program of the pod's choice, the second has no client here.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import aiohttp

from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.pod import Container, HTTPGetAction, Probe, TCPSocketAction

_HTTP_SUCCESS = range(200, 400)


class Listener(Protocol):
    """Who wants to know what the probes of one run say."""

    def started(self) -> None:
        """The startup probe has passed, or there is none."""

    def ready(self, ready: bool) -> None:  # noqa: FBT001 - a value, not an option
        """The readiness probe changed its mind."""

    def failed(self, message: str) -> None:
        """The startup or liveness probe gives the container up."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a probe's answers add up to."""

    holds: bool | None = None
    """``None`` until a threshold was reached."""

    latest: bool | None = None
    streak: int = 0

    def observe(self, answer: bool, probe: Probe) -> Self:  # noqa: FBT001 - the answer itself
        """Return the tally after one more answer."""
        streak = self.streak + 1 if answer is self.latest else 1
        threshold = probe.success_threshold if answer else probe.failure_threshold
        holds = answer if streak >= threshold else self.holds
        return type(self)(holds, answer, streak)


def refuse_unsupported(container: Container) -> None:
    """Check that every probe of a container can be asked here.

    Raises:
        ContainerRefusedError: when one cannot.
    """
    probes = (container.startup_probe, container.readiness_probe, container.liveness_probe)
    for probe in filter(None, probes):
        if probe.http_get is None and probe.tcp_socket is None:
            raise ContainerRefusedError(
                f"The host node asks httpGet and tcpSocket probes; container {container.name} has one "
                "of another type. Exec probes are refused because only programs of the image table run."
            )


class Prober:
    """Asks the probes of all containers over one HTTP client."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @classmethod
    def create(cls) -> Self:
        """Return a prober that, like a kubelet, neither keeps connections nor verifies certificates."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connector = aiohttp.TCPConnector(ssl=context, force_close=True, limit=0)
        return cls(aiohttp.ClientSession(connector=connector, auto_decompress=False))

    async def close(self) -> None:
        """Close the HTTP client."""
        await self._session.close()

    async def attend(self, container: Container, address: str, listener: Listener) -> None:
        """Ask one run's probes until cancelled, or until one gives the container up."""
        ask = _Asker(self._session, container, address)
        if container.startup_probe and not await self._settles(
            ask, container.startup_probe, listener
        ):
            return
        listener.started()
        async with asyncio.TaskGroup() as group:
            if container.liveness_probe:
                group.create_task(self._keep_alive(ask, container.liveness_probe, listener))
            if container.readiness_probe:
                group.create_task(self._keep_ready(ask, container.readiness_probe, listener))

    async def call(
        self, container: Container, address: str, action: HTTPGetAction, seconds: float
    ) -> str:
        """Send the request of a hook; return a complaint, empty when all went well."""
        return await _Asker(self._session, container, address)(
            Probe(http_get=action, timeout_seconds=seconds)
        )

    async def _settles(self, ask: "_Asker", probe: Probe, listener: Listener) -> bool:
        """Ask a startup probe until it is decided."""
        message = await self._until(ask, probe, lambda tally: tally.holds is not None)
        if message:
            listener.failed(f"Startup probe failed: {message}")
        return not message

    async def _keep_alive(self, ask: "_Asker", probe: Probe, listener: Listener) -> None:
        message = await self._until(ask, probe, lambda tally: tally.holds is False)
        listener.failed(f"Liveness probe failed: {message}")

    async def _keep_ready(self, ask: "_Asker", probe: Probe, listener: Listener) -> None:
        reported = False

        def report(tally: Tally) -> bool:
            nonlocal reported
            if tally.holds is not None and tally.holds is not reported:
                reported = tally.holds
                listener.ready(reported)
            return False

        await self._until(ask, probe, report)

    async def _until(self, ask: "_Asker", probe: Probe, done: Callable[[Tally], bool]) -> str:
        """Ask periodically until ``done``; return the last answer's complaint, empty when it was good."""
        await asyncio.sleep(probe.initial_delay_seconds)
        tally = Tally()
        while True:
            complaint = await ask(probe)
            tally = tally.observe(not complaint, probe)
            if done(tally):
                return complaint
            await asyncio.sleep(probe.period_seconds)


class _Asker:
    """Asks one container once; the answer is a complaint, empty when all is well."""

    def __init__(self, session: aiohttp.ClientSession, container: Container, address: str) -> None:
        self._session = session
        self._container = container
        self._address = address

    async def __call__(self, probe: Probe) -> str:
        try:
            async with asyncio.timeout(probe.timeout_seconds):
                if probe.http_get:
                    return await self._http(probe.http_get)
                if probe.tcp_socket:
                    return await self._tcp(probe.tcp_socket)
        except TimeoutError:
            return f"no answer within {probe.timeout_seconds:g} s"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError is a URL that cannot be.
            return str(error) or type(error).__name__
        return "the probe has no action"

    async def _http(self, action: HTTPGetAction) -> str:
        host, path = action.host or self._address, action.path.lstrip("/")
        url = f"{action.scheme.lower()}://{host}:{self._port(action.port)}/{path}"
        headers = {header.name: header.value for header in action.http_headers}
        async with self._session.get(url, headers=headers, allow_redirects=False) as response:
            if response.status in _HTTP_SUCCESS:
                return ""
            return f"HTTP status {response.status} of {url}"

    async def _tcp(self, action: TCPSocketAction) -> str:
        host = action.host or self._address
        _, writer = await asyncio.open_connection(host, self._port(action.port))
        writer.close()
        return ""

    def _port(self, port: int | str) -> int:
        number = self._container.port_number(port)
        if number is None:
            raise ValueError(f"container {self._container.name} has no port named {port}")
        return number
