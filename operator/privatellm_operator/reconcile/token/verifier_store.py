"""Verifiers where they live: created once, never changed, removed by name or by what they were for."""

from privatellm import labels
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.verifiers import SECRET_TYPE, Verifier
from privatellm_operator.world.cache import World


class VerifierStore:
    """The Secrets of the token namespace."""

    def __init__(self, client: KubeClient, world: World, token_namespace: str) -> None:
        self._client = client
        self._world = world
        self._namespace = token_namespace

    async def create(self, verifier: Verifier) -> None:
        """Store a new verifier; from now on the edge accepts its key.

        Raises:
            AlreadyExistsError: when the key id is taken; the next pass takes another one.
        """
        stored = await self._client.create(kinds.SECRET, verifier.to_secret(self._namespace))
        self._world[kinds.SECRET].put(stored)

    async def remove(self, name: str) -> None:
        """End a key, whether or not its verifier still exists."""
        await self._client.delete(kinds.SECRET, name, self._namespace)
        known = self._world[kinds.SECRET].get(self._namespace, name)
        if known is not None:
            self._world[kinds.SECRET].drop(known)

    async def remove_of_request(self, request_uid: str) -> None:
        """End every key that was issued for a request."""
        for secret in self._world[kinds.SECRET].find(request_uid):
            if secret["metadata"]["namespace"] == self._namespace:
                await self.remove(secret["metadata"]["name"])

    async def remove_of_instance(self, instance_uid: str) -> None:
        """End every key that opens an instance; asks the API server, because nothing asks later."""
        selector = f"{labels.INSTANCE_UID}={instance_uid}"
        listing = await self._client.list(kinds.SECRET, self._namespace, labels=selector)
        for secret in listing.items:
            await self.remove(secret["metadata"]["name"])

    async def all(self) -> tuple[Manifest, ...]:
        """Return every verifier that exists, as the API server knows it, whatever its labels say."""
        listing = await self._client.list(
            kinds.SECRET, self._namespace, fields=f"type={SECRET_TYPE}"
        )
        return listing.items
