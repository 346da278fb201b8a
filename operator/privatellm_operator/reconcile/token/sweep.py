"""The sweep: verifiers that nobody answers for are removed.

The finalizer and the passes do this at once; the sweep is for what they cannot see, such as a stripped
finalizer while the operator was down. It trusts no cache: it lists the verifiers, *then* the requests. A
verifier of the first list had its request before it existed, so a request that is missing from the second
list is gone. A list that fails ends the sweep without removing anything.
"""

from collections.abc import Iterable

import structlog

from privatellm import labels
from privatellm.errors import MalformedVerifierError
from privatellm.kube import Manifest, kinds
from privatellm.verifiers import Verifier
from privatellm_operator.context import ProcessContext
from privatellm_operator.reconcile.token.verifier_store import VerifierStore

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 60.0
"""Seconds between two sweeps: the longest that an orphan can live while the operator runs."""


class VerifierSweep:
    """Removes verifiers by what they were for."""

    def __init__(self, context: ProcessContext) -> None:
        namespace = context.settings.tokens.token_namespace
        self._client = context.client
        self._served = frozenset(context.settings.watch.namespaces)
        self._verifiers = VerifierStore(context.client, context.world, namespace)

    async def revoke_instance(self, instance_uid: str) -> None:
        """End every key that opens an instance; for the instance's finalizer.

        Raises:
            KubernetesError: when one could not be removed; the caller comes back.
        """
        await self._verifiers.remove_of_instance(instance_uid)

    async def sweep(self) -> int:
        """Remove every verifier that nobody answers for, and return how many there were.

        Raises:
            KubernetesError: when the world cannot be seen whole; nothing is removed then.
        """
        verifiers = await self._verifiers.all()
        alive = await self._living_requests()
        orphans = orphans_among(verifiers, alive, self._served)
        for name in orphans:
            log.warning("verifier without a request removed", verifier=name)
            await self._verifiers.remove(name)
        return len(orphans)

    async def _living_requests(self) -> frozenset[str]:
        listings = [
            await self._client.list(kinds.API_TOKEN_REQUEST, namespace)
            for namespace in (self._served or (None,))
        ]
        return frozenset(item["metadata"]["uid"] for listing in listings for item in listing.items)


def orphans_among(
    secrets: Iterable[Manifest], alive: frozenset[str], served: frozenset[str]
) -> tuple[str, ...]:
    """Return the names of the verifiers that nobody answers for.

    A verifier whose labels do not say what its fields say is one of them: passes find verifiers by
    label while the edge goes by the fields, so such a one would outlive everything. One that the edge
    cannot read is left to the pass over its request.

    Args:
        secrets: Every verifier that exists.
        alive: UIDs of every token request that exists in the served namespaces.
        served: The namespaces whose requests were listed; empty for all of the cluster. Verifiers of
            other namespaces are none of our business.
    """
    return tuple(sorted(s["metadata"]["name"] for s in secrets if _is_orphan(s, alive, served)))


def _is_orphan(secret: Manifest, alive: frozenset[str], served: frozenset[str]) -> bool:
    found = secret["metadata"].get("labels") or {}
    try:
        verifier = Verifier.from_secret(secret)
    except MalformedVerifierError:
        return False
    if served and verifier.namespace not in served:
        return False
    findable = {
        labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
        labels.REQUEST_UID: verifier.request_uid,
        labels.INSTANCE_UID: verifier.instance_uid,
    }
    return verifier.request_uid not in alive or not findable.items() <= found.items()
