"""Customers' objects and what is read back from them, for tests of the token passes."""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from privatellm.api.api_token_request import APITokenRequest
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.tokens import Token
from privatellm.verifiers import Digest, Verifier

INSTANCE = "chat"
REQUEST = "app"
SECRET = "app-token"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A customer's namespace, and the namespace that holds the platform's verifiers."""

    client: KubeClient
    namespace: str
    token_namespace: str

    async def order(self, *, phase: str | None = "Ready", name: str = INSTANCE) -> Manifest:
        """Create an instance, with the phase that its own passes would write."""
        manifest = {
            "apiVersion": kinds.LLM_INSTANCE.api_version,
            "kind": kinds.LLM_INSTANCE.name,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {},
        }
        created = await self.client.create(kinds.LLM_INSTANCE, manifest)
        return await self.rate(phase, name=name) if phase else created

    async def rate(self, phase: str, *, name: str = INSTANCE) -> Manifest:
        """Write an instance's phase."""
        return await self.client.patch(
            kinds.LLM_INSTANCE,
            name,
            self.namespace,
            {"status": {"phase": phase}},
            subresource="status",
        )

    async def ask(self, *, name: str = REQUEST, **spec: Any) -> Manifest:
        """Create a token request."""
        manifest = {
            "apiVersion": kinds.API_TOKEN_REQUEST.api_version,
            "kind": kinds.API_TOKEN_REQUEST.name,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"instanceName": INSTANCE, **spec},
        }
        return await self.client.create(kinds.API_TOKEN_REQUEST, manifest)

    async def cancel(self, *, name: str = INSTANCE) -> None:
        """Delete an instance."""
        await self.client.delete(kinds.LLM_INSTANCE, name, self.namespace)

    async def withdraw(self, *, name: str = REQUEST) -> None:
        """Delete a token request."""
        await self.client.delete(kinds.API_TOKEN_REQUEST, name, self.namespace)

    async def strip_finalizers(self, *, name: str = REQUEST) -> None:
        """Take the finalizers off a token request, as its owner may."""
        patch: Manifest = {"metadata": {"finalizers": []}}
        await self.client.patch(kinds.API_TOKEN_REQUEST, name, self.namespace, patch)

    async def events(self) -> list[Manifest]:
        """Return the events of the namespace, oldest first."""
        listing = await self.client.list(kinds.EVENT, self.namespace)
        return sorted(listing.items, key=lambda event: str(event["eventTime"]))

    async def change(self, spec: dict[str, Any], *, name: str = REQUEST) -> None:
        """Edit a token request's spec."""
        await self.client.patch(kinds.API_TOKEN_REQUEST, name, self.namespace, {"spec": spec})

    async def request(self, name: str = REQUEST) -> APITokenRequest | None:
        """Return a token request as it is stored."""
        manifest = await self.client.get(kinds.API_TOKEN_REQUEST, name, self.namespace)
        return APITokenRequest.parse(manifest) if manifest else None

    async def secret(self, name: str = SECRET) -> Manifest | None:
        """Return a Secret of the customer's namespace."""
        return await self.client.get(kinds.SECRET, name, self.namespace)

    async def data(self, name: str = SECRET) -> dict[str, str]:
        """Return what a Secret of the customer's namespace holds, decoded."""
        secret = await self.secret(name)
        stored = (secret or {}).get("data") or {}
        return {key: b64decode(value).decode() for key, value in stored.items()}

    async def write(self, data: dict[str, str | None], *, name: str = SECRET) -> None:
        """Write into a Secret as the customer may; ``None`` removes."""
        encoded = {
            key: None if value is None else b64encode(value.encode()).decode()
            for key, value in data.items()
        }
        await self.client.patch(kinds.SECRET, name, self.namespace, {"data": encoded})

    async def verifiers(self) -> tuple[Verifier, ...]:
        """Return every verifier that the edge would load for this namespace."""
        listing = await self.client.list(kinds.SECRET, self.token_namespace)
        loaded = (Verifier.from_secret(secret) for secret in listing.items)
        return tuple(v for v in loaded if v.namespace == self.namespace)

    async def opens(self, text: str) -> bool:
        """Say whether the edge would accept a key."""
        token = Token.parse(text)
        return any(
            v.key_id == token.key_id and Digest.decode(v.hash).matches(token.secret.encode())
            for v in await self.verifiers()
        )
