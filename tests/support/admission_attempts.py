"""Requests that a tenant tries, as values: tables of them are the tests.

Every write is a dry run, which passes admission like any other request and leaves nothing behind.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from privatellm.errors import ForbiddenError
from privatellm.kube import KubeClient
from privatellm.kube.client import PatchType
from privatellm.kube.kinds import Kind

Manifest = dict[str, Any]
Build = Callable[[str], Manifest]
"""Returns a manifest for a namespace."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request, told as what somebody tries."""

    what: str
    send: Callable[[KubeClient, str], Awaitable[object]]

    @override
    def __str__(self) -> str:
        """Name the test case."""
        return self.what.replace(" ", "-")


def creating(what: str, kind: Kind, build: Build) -> Attempt:
    """Return the attempt to create an object."""

    async def send(client: KubeClient, namespace: str) -> object:
        return await client.create(kind, build(namespace), dry_run=True)

    return Attempt(what, send)


def patching(
    what: str,
    kind: Kind,
    name: str,
    body: Manifest,
    *,
    subresource: str = "",
    patch_type: PatchType = PatchType.MERGE,
) -> Attempt:
    """Return the attempt to change an object or its subresource."""

    async def send(client: KubeClient, namespace: str) -> object:
        path = kind.path(namespace, name, subresource)
        query = {"dryRun": "All"}
        return await client.request("PATCH", path, query=query, body=body, content=patch_type)

    return Attempt(what, send)


def connecting(
    what: str, kind: Kind, name: str, subresource: str, *, method: str = "POST", **query: str
) -> Attempt:
    """Return the attempt to open a connection to a pod or a Service."""

    async def send(client: KubeClient, namespace: str) -> object:
        return await client.request(method, kind.path(namespace, name, subresource), query=query)

    return Attempt(what, send)


async def assert_refused_by(
    policy: str, attempt: Attempt, client: KubeClient, namespace: str
) -> None:
    """Fail unless a policy, and neither RBAC nor validation, refuses the attempt.

    Args:
        policy: Regular expression of the policy's name without our prefix.
        attempt: What is tried.
        client: Who tries.
        namespace: Where.
    """
    refusal = await _refusal_of(attempt, client, namespace)
    by_policy = f"ValidatingAdmissionPolicy 'private-llm-{policy}'"
    assert re.search(by_policy, refusal), f"{attempt}: {refusal or 'let through'}"


async def _refusal_of(attempt: Attempt, client: KubeClient, namespace: str) -> str:
    try:
        await attempt.send(client, namespace)
    except ForbiddenError as error:
        return str(error)
    return ""
