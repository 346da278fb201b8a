"""One leader among several processes, by a ``coordination.k8s.io`` Lease.

The holder renews the Lease; who waits takes it over when it has not changed for its whole duration. That
is measured by the waiter's own monotonic clock, so clocks need not agree. Every write carries the resource
version it was decided on, so of two takers one loses.

Whoever acquires the Lease has to call :meth:`Lease.hold` at once, whatever there is to prepare. A holder
that cannot reach the API server cannot write anything else there either, so it keeps its work and pauses:
it may go on when the Lease is still its own, and must end when somebody else has taken it. Who was
suspended can ask :meth:`Lease.is_certain` before each write. Nothing here protects a process that was
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

_NEVER = float("-inf")


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
        self._certain_until = _NEVER
        self._led_before: datetime | None = None

    @property
    def led_before(self) -> datetime | None:
        """When the leader before us last said that it leads, by its clock; ``None`` when there was none."""
        return self._led_before

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
        """Renew the Lease for ever, which has to begin as soon as it is acquired.

        Args:
            note: Told ``False`` when the Lease has run out because it could not be renewed, and ``True``
                when it is certainly ours again.

        Raises:
            LeaseLostError: when somebody else holds it.
        """
        noted = True
        while True:
            await asyncio.sleep(self._pause())
            await self._renew()
            if self.is_certain() is not noted:
                noted = not noted
                note(noted)

    def _pause(self) -> float:
        """Return the seconds until the next renewal; one that failed or was slow is soon repeated."""
        renewed = self._certain_until - self._settings.duration
        due = renewed + self._settings.renew_every - self._clock()
        return max(due, self._settings.retry_every)

    async def _renew(self) -> None:
        """Renew the Lease if the API server lets us; wait for its answer only while nobody else may lead.

        Raises:
            LeaseLostError: when somebody else holds the Lease.
        """
        left = self._certain_until - self._clock()
        try:
            async with asyncio.timeout(left if left > 0 else self._settings.duration):
                # A conflict may be with a late write of our own, so who met one looks again.
                held = await self._try() or await self._try()
        except (KubernetesError, TimeoutError) as error:
            log.warning("lease not renewed", error=str(error) or "no answer in time")
            return
        if not held:
            self._certain_until = _NEVER
            raise LeaseLostError(
                f"The Lease {self._settings.name} was taken over, so this process ends its work."
            )

    async def release(self) -> None:
        """Let the next candidate take over at once, if the Lease is ours."""
        self._certain_until = _NEVER
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
        if self._certain_until == _NEVER:
            self._led_before = _renewed(lease)
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


def _renewed(lease: Manifest | None) -> datetime | None:
    """Return when a Lease was renewed last; ``None`` when it does not say, for others may write it too."""
    try:
        moment = datetime.fromisoformat(((lease or {}).get("spec") or {}).get("renewTime") or "")
    except ValueError:
        return None
    return moment if moment.tzinfo else None
