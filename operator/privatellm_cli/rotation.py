"""Replace keys now, without waiting for ``spec.rotation``.

One request: its Secret is deleted. The operator then ends the old key and issues another one into a new
Secret of the same name, which is what it does for every Secret that got lost. Deleting is also the only
write to that Secret that the admission policies leave to a customer. There is no overlap: the old key is
dead before the new one exists.

All requests, for a platform team whose authserver was taken over: every verifier is deleted. The edge
refuses all keys within a moment, and the operator issues a new one for each request that may have one. No
customer's Secret is touched by us: it takes the right to delete in the token namespace and to list
requests.
"""

import asyncio
from dataclasses import dataclass

from privatellm import labels
from privatellm.api.api_token_request import APITokenRequest, TokenPhase
from privatellm.errors import ConflictError
from privatellm.kube import Manifest, kinds
from privatellm.names import token_secret_name
from privatellm.verifiers import SECRET_TYPE
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.errors import OverdueError, UnreachedError
from privatellm_cli.keys import Key, until_issued
from privatellm_local.progress import Progress

PARALLEL = 16
"""Deletions at the same time."""

PAUSE_SECONDS = 0.5
"""Between two looks at how many requests have a new key."""

BARRED = (TokenPhase.FAILED, TokenPhase.EXPIRED, TokenPhase.REVOKED)
"""The phases in which the operator issues no key."""


async def rotate_one(cluster: Cluster, name: Name, timeout_seconds: float) -> tuple[str, Key]:
    """Replace the key of one request; return the id of the old key, and the new key.

    Raises:
        UnreachedError: when the request has no key that could be replaced.
        OverdueError: when the new key is not there in time.
    """
    manifest = await cluster.require(kinds.API_TOKEN_REQUEST, name)
    request = APITokenRequest.parse(manifest)
    old = request.status.key_id
    if not old:
        raise UnreachedError(
            f"APITokenRequest {name.text} has no key to rotate. {explanation(request)}".rstrip()
        )
    await _drop_secret(cluster, request)
    return old, await until_issued(cluster, name, timeout_seconds, other_than=old)


def explanation(request: APITokenRequest) -> str:
    """Return why a request has no key, in the operator's words; empty when it has not looked yet."""
    conditions = request.status.conditions
    return conditions[0].message if conditions else ""


async def _drop_secret(cluster: Cluster, request: APITokenRequest) -> None:
    name, namespace = token_secret_name(request.metadata.name), request.metadata.namespace
    secret = await cluster.client.get(kinds.SECRET, name, namespace)
    if secret is None:
        return  # The operator is at it already.
    owners = secret["metadata"].get("ownerReferences") or ()
    if not any(owner["uid"] == request.metadata.uid for owner in owners):
        raise ConflictError(
            f"The Secret {namespace}/{name} does not belong to the request {request.metadata.name}, so it "
            "is left alone. Rename the request, or delete that Secret yourself."
        )
    await cluster.client.delete(kinds.SECRET, name, namespace, uid=secret["metadata"]["uid"])


@dataclass(frozen=True, slots=True)
class Ended:
    """What a rotation of all keys ended.

    Attributes:
        verifiers: Names of the verifiers that were deleted.
        requests: UIDs of the requests that they belonged to.
    """

    verifiers: frozenset[str]
    requests: frozenset[str]


async def verifiers(cluster: Cluster, token_namespace: str) -> tuple[Manifest, ...]:
    """Return every verifier there is."""
    listing = await cluster.client.list(kinds.SECRET, token_namespace, fields=f"type={SECRET_TYPE}")
    return listing.items


async def to_end(cluster: Cluster, token_namespace: str) -> tuple[Manifest, ...]:
    """Return every verifier there is, to end them all.

    Raises:
        UnreachedError: when there is none though requests have keys: then the namespace is another one.
    """
    found = await verifiers(cluster, token_namespace)
    if not found and (served := await _served(cluster)):
        raise UnreachedError(
            f"No key is known in the namespace {token_namespace}, but {served} requests have one; nothing "
            "was ended. Name the operator's token namespace with --token-namespace."
        )
    return found


async def _served(cluster: Cluster) -> int:
    """Return how many requests have a key."""
    requests = await cluster.client.list(kinds.API_TOKEN_REQUEST)
    return sum((r.get("status") or {}).get("phase") == TokenPhase.READY for r in requests.items)


async def end_all(cluster: Cluster, found: tuple[Manifest, ...]) -> Ended:
    """Delete verifiers: from now on the edge refuses their keys."""
    limit = asyncio.Semaphore(PARALLEL)

    async def end(verifier: Manifest) -> None:
        metadata = verifier["metadata"]
        async with limit:
            await cluster.client.delete(kinds.SECRET, metadata["name"], metadata["namespace"])

    await asyncio.gather(*map(end, found))
    return Ended(
        verifiers=frozenset(v["metadata"]["name"] for v in found),
        requests=frozenset(filter(None, map(_request_uid, found))),
    )


async def until_reissued(
    cluster: Cluster,
    token_namespace: str,
    ended: Ended,
    progress: Progress,
    timeout_seconds: float,
) -> tuple[APITokenRequest, ...]:
    """Return once every request that may have a new key has one; return those that may not have one.

    A request that goes away meanwhile is owed nothing, and one that the operator refuses a key (its Secret
    belongs to somebody else, say) would be waited for in vain.

    Raises:
        OverdueError: when some have none, with how many.
    """
    waiting: tuple[APITokenRequest, ...] = ()
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                waiting = await _without_new_key(cluster, token_namespace, ended)
                barred = tuple(request for request in waiting if _is_barred(request))
                done = len(ended.requests) - len(waiting)
                progress.update(f"{done} of {len(ended.requests)} requests have a new key")
                if len(barred) == len(waiting):
                    return barred
                await asyncio.sleep(PAUSE_SECONDS)
    except TimeoutError:
        raise OverdueError(
            f"Every old key is dead; {len(waiting)} of {len(ended.requests)} requests have no new one "
            f"after {timeout_seconds:g} s. The operator goes on (`privatellm token list -A`), or "
            "is down (`privatellm doctor`)."
        ) from None


async def _without_new_key(
    cluster: Cluster, token_namespace: str, ended: Ended
) -> tuple[APITokenRequest, ...]:
    """Return the requests that lost their keys, still exist and have no new key."""
    now = await verifiers(cluster, token_namespace)
    fresh = [v for v in now if v["metadata"]["name"] not in ended.verifiers]
    missing = ended.requests - frozenset(map(_request_uid, fresh))
    if not missing:
        return ()
    listing = await cluster.client.list(kinds.API_TOKEN_REQUEST)
    lost = (one for one in listing.items if one["metadata"]["uid"] in missing)
    return tuple(
        request for request in map(APITokenRequest.parse, lost) if not request.metadata.is_deleting
    )


def _is_barred(request: APITokenRequest) -> bool:
    return request.spec.revoked or request.status.phase in BARRED


def _request_uid(verifier: Manifest) -> str:
    return str((verifier["metadata"].get("labels") or {}).get(labels.REQUEST_UID, ""))
