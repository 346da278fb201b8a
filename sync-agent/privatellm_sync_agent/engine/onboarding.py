"""The rung that opens a copy's local namespace: it exists, and the provider's grants hold in it.

Grants are given only in namespaces that this agent made; in one that somebody else made, rights are that
person's to give. They are looked at when a namespace is first met, when it had to be made anew, and every
few minutes; a settled world causes reads alone. A binding that is there stays as it is, whatever it says:
changing a grant is for people, and one that is to go must leave the PublishedResource first.
"""

from privatellm.errors import AlreadyExistsError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import NAMESPACE, ROLE_BINDING
from privatellm_sync_agent.engine.work import Verdict, Work
from privatellm_sync_agent.objects.ownership import AGENT, CLUSTER
from privatellm_sync_agent.published.onboarding import Grant


async def grant_in_namespace(work: Work) -> Verdict:
    """Give the provider's grants in the namespace of the copy, before the copy exists if there is none."""
    if not work.publication.grants or not work.publication.local.namespaced:
        return None
    namespace = _namespace_of_copy(work)
    if namespace not in work.world.opened:
        await open_namespace(work, namespace)
    return None


async def open_namespace(work: Work, namespace: str) -> None:
    """Make the namespace of a copy if it is missing, and give the provider's grants in it.

    Raises:
        KubernetesError: when a request failed, such as a grant that the agent must not give.
    """
    labels = {AGENT: work.publication.agent, CLUSTER: work.identity.cluster}
    work.world.opened.discard(namespace)
    is_ours = await ensure_namespace(work.service, namespace, labels)
    if work.publication.grants:
        if is_ours or await _is_of(work.service, namespace, work.publication.agent):
            for grant in work.publication.grants:
                await _give(work.service, grant, namespace, labels)
        work.world.opened.add(namespace)


async def ensure_namespace(client: KubeClient, name: str, labels: dict[str, str]) -> bool:
    """Create a namespace that says whose it is, and return whether it was created now.

    One that exists stays as it is.
    """
    manifest = {
        "apiVersion": NAMESPACE.api_version,
        "kind": NAMESPACE.name,
        "metadata": {"name": name, "labels": labels},
    }
    try:
        await client.create(NAMESPACE, manifest)
    except AlreadyExistsError:
        return False
    return True


async def _is_of(client: KubeClient, namespace: str, agent: str) -> bool:
    found: Manifest = await client.get(NAMESPACE, namespace) or {"metadata": {}}
    return (found["metadata"].get("labels") or {}).get(AGENT) == agent


async def _give(client: KubeClient, grant: Grant, namespace: str, labels: dict[str, str]) -> None:
    if await client.get(ROLE_BINDING, grant.binding_name, namespace) is not None:
        return
    try:
        await client.create(ROLE_BINDING, grant.binding(namespace, labels))
    except AlreadyExistsError:
        return


def _namespace_of_copy(work: Work) -> str:
    if work.local is not None:
        return str(work.local["metadata"]["namespace"])
    rule = work.publication.spec.naming.rule
    return rule.local_name(work.remote, work.cluster_path).namespace
