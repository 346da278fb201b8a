"""Install our parts into a control plane, or bring them up to date; running it again changes nothing."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from privatellm.api.crds import all_crds
from privatellm.errors import AlreadyExistsError, PrivateLLMError
from privatellm.kube import KubeClient, kinds
from privatellm.kube.waiting import states, wait_for
from privatellm_local.availability import PARTS, availability
from privatellm_local.platform.admission import admission
from privatellm_local.platform.catalogue import catalogue
from privatellm_local.platform.facts import FIELD_MANAGER, SYSTEM_NAMESPACE, PlatformFacts
from privatellm_local.platform.namespaces import namespaces
from privatellm_local.platform.people import people
from privatellm_local.platform.platform_key import new_platform_key
from privatellm_local.platform.rbac import rbac
from privatellm_local.platform.workloads import workloads

Progress = Callable[[str], None]
"""Called with a short sentence about what is happening."""

Manifest = dict[str, Any]


class PlatformNotReadyError(PrivateLLMError):
    """A part of the platform did not become available in time."""


async def install_platform(client: KubeClient, facts: PlatformFacts, progress: Progress) -> None:
    """Apply CRDs, namespaces, rights, the catalogue, the admission policies and the workloads.

    Args:
        client: An administrator's client.
        facts: The values of this environment.
        progress: Told what happens.
    """
    progress("custom resource definitions")
    await asyncio.gather(*(_install_crd(client, crd) for crd in all_crds()))
    progress("namespaces, rights and the catalogue")
    await _apply_all(client, namespaces(facts))
    await _create_platform_key(client)
    await _apply_all(client, (*rbac(facts), *people(), catalogue(facts)))
    progress("admission policies")
    await _apply_all(client, admission(facts))
    progress("operator and ForwardAuth service")
    await _apply_all(client, workloads(facts))


async def install_sync_agent(
    client: KubeClient, definition: Manifest, manifests: tuple[Manifest, ...]
) -> None:
    """Apply the definition of what the agent reads, and the agent.

    Args:
        client: An administrator's client.
        definition: The CustomResourceDefinition of PublishedResource.
        manifests: The agent's own.
    """
    await _install_crd(client, definition)
    await _apply_all(client, manifests)


async def wait_until_available(
    client: KubeClient,
    deadline_seconds: float,
    progress: Progress,
    parts: tuple[str, ...] = PARTS,
) -> None:
    """Wait until parts of the platform are available.

    Args:
        client: An administrator's client.
        deadline_seconds: How long each may take.
        progress: Told what is waited for.
        parts: Names of the Deployments; operator and ForwardAuth service unless others are named.

    Raises:
        PlatformNotReadyError: when the deadline passes, with the part that is missing and how much of it
            there is.
    """
    for name in parts:
        seen = availability(name, None)
        try:
            async with asyncio.timeout(deadline_seconds):
                async with aclosing(
                    states(client, kinds.DEPLOYMENT, name, SYSTEM_NAMESPACE)
                ) as deployments:
                    async for deployment in deployments:
                        seen = availability(name, deployment)
                        if seen.is_available:
                            break
                        progress(f"waiting for {name}, which {seen.trouble}")
        except TimeoutError as error:
            raise PlatformNotReadyError(
                f"{name} must become available within {deadline_seconds:.0f} s and {seen.trouble}. "
                f"See: kubectl -n {SYSTEM_NAMESPACE} describe deployment/{name}, and its logs"
            ) from error


async def _install_crd(client: KubeClient, crd: Manifest) -> None:
    await client.apply(kinds.CUSTOM_RESOURCE_DEFINITION, crd, field_manager=FIELD_MANAGER)
    name = crd["metadata"]["name"]
    await wait_for(client, kinds.CUSTOM_RESOURCE_DEFINITION, name, None, _established)


async def _apply_all(client: KubeClient, manifests: tuple[Manifest, ...]) -> None:
    for manifest in manifests:
        await client.apply(kinds.kind_of(manifest), manifest, field_manager=FIELD_MANAGER)


async def _create_platform_key(client: KubeClient) -> None:
    try:
        await client.create(kinds.SECRET, new_platform_key())
    except AlreadyExistsError:
        return


def _established(crd: Manifest | None) -> bool:
    # The API server writes `conditions: null` before it has any.
    conditions = (crd or {}).get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
