"""One leader among several processes, by a ``coordination.k8s.io`` Lease.

The holder renews the Lease; who waits takes it over when it has not changed for its whole duration. That
is measured by the waiter's own monotonic clock, so clocks need not agree. Every write carries the resource
version it was decided on, so of two takers one loses.

A holder that cannot reach the API server cannot write anything else there either, so it keeps its work and
pauses: it may go on when the Lease is still its own, and must end when somebody else has taken it. Who
was suspended can ask :meth:`Lease.is_certain` before each write. Nothing here protects a process that was
suspended between that question and the write; a later leader repairs what that one leaves.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from privatellm.errors import (
    AlreadyExistsError,
    ConflictError,
    KubernetesError,
    NotFoundError,
    PrivateLLMError,
)
from privatellm.kube.client import KubeClient, Manifest
from privatellm.kube.kinds import LEASE

log = structlog.get_logger(__name__)


class LeaseLostError(PrivateLLMError):
    """Somebody else leads now; this process must end its work."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Which Lease, and how patient its candidates are.

    Attributes:
        namespace: Namespace of the Lease.
        name: Its name.
        identity: Who we are; unique among the candidates.
        duration: Seconds without a renewal after which others may take over.
        renew_every: Seconds between two renewals.
        retry_every: Seconds between two looks of a candidate that waits.
    """

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    renew_every: float = 5.0
    retry_every: float = 2.0


def _ignore(_certain: bool) -> None:  # noqa: FBT001 - the signature of a callback
    """Take no note."""


class Lease:
    """One candidate for a Lease."""

    def __init__(
        self,
        client: KubeClient,
        settings: LeaseSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._seen: tuple[str, float] = ("", 0.0)
        self._certain_until = float("-inf")

    def is_certain(self) -> bool:
        """Return whether nobody else can have taken the Lease yet, by our clock and without a request."""
        return self._clock() < self._certain_until

    async def acquire(self) -> None:
        """Wait until the Lease is ours; an API server that does not answer is waited for."""
        while True:
            try:
                if await self._try():
                    log.info(
                        "lease acquired", lease=self._settings.name, holder=self._settings.identity
                    )
                    return
            except KubernetesError as error:
                log.warning("lease not acquired", error=str(error))
            await asyncio.sleep(self._settings.retry_every)

    async def hold(self, note: Callable[[bool], None] = _ignore) -> None:
        """Renew the Lease for ever.

        Args:
            note: Told ``False`` when the Lease has run out because it could not be renewed, and ``True``
                when it is certainly ours again.

        Raises:
            LeaseLostError: when somebody else holds it.
        """
        renewed, certain = self._clock(), True
        while True:
            await asyncio.sleep(self._settings.renew_every)
            try:
                held = await self._try()
            except KubernetesError as error:
                log.warning("lease not renewed", error=str(error))
                if certain and self._clock() - renewed > self._settings.duration:
                    certain = False
                    note(certain)
                continue
            if not held:
                raise LeaseLostError(
                    f"The Lease {self._settings.name} was taken over, so this process ends its work."
                )
            renewed = self._clock()
            if not certain:
                certain = True
                note(certain)

    async def release(self) -> None:
        """Let the next candidate take over at once, if the Lease is ours."""
        self._certain_until = float("-inf")
        lease = await self._read()
        if lease is None or _holder(lease) != self._settings.identity:
            return
        try:
            await self._write(lease, holder="")
        except (ConflictError, NotFoundError):
            # Somebody else was faster, which is what a release is for.
            return
        log.info("lease released", lease=self._settings.name, holder=self._settings.identity)

    async def _try(self) -> bool:
        """Renew or take the Lease when that is allowed, and say whether it is ours."""
        # Others count from when they saw the write, so counting from before it is on the safe side.
        began = self._clock()
        lease = await self._read()
        if lease is not None and not self._is_free(lease):
            return False
        try:
            await self._write(lease, holder=self._settings.identity)
        except (AlreadyExistsError, ConflictError):
            return False
        self._certain_until = began + self._settings.duration
        return True

    def _is_free(self, lease: Manifest) -> bool:
        if _holder(lease) in ("", self._settings.identity):
            return True
        version = str(lease["metadata"]["resourceVersion"])
        if version != self._seen[0]:
            self._seen = (version, self._clock())
        duration = lease["spec"].get("leaseDurationSeconds", self._settings.duration)
        return self._clock() - self._seen[1] > float(duration)

    async def _read(self) -> Manifest | None:
        return await self._client.get(LEASE, self._settings.name, self._settings.namespace)

    async def _write(self, lease: Manifest | None, *, holder: str) -> None:
        wanted = self._manifest(lease, holder)
        if lease is None:
            await self._client.create(LEASE, wanted)
        else:
            await self._client.replace(LEASE, wanted)

    def _manifest(self, lease: Manifest | None, holder: str) -> Manifest:
        before: Manifest = (lease or {}).get("spec") or {}
        taken = before.get("holderIdentity") != holder
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(1, round(self._settings.duration)),
            "renewTime": now,
            "acquireTime": now if taken else before.get("acquireTime", now),
            "leaseTransitions": int(before.get("leaseTransitions", 0))
            + int(taken and bool(holder)),
        }
        metadata = {"name": self._settings.name, "namespace": self._settings.namespace}
        if lease is not None:
            metadata["resourceVersion"] = lease["metadata"]["resourceVersion"]
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": metadata,
            "spec": spec,
        }


def _holder(lease: Manifest) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
