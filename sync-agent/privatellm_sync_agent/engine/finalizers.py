"""Our finalizer on customers' objects: the only thing that makes their deletion wait for us.

Each agent has its own. Upstream's shared one is exchanged for ours when a copy of its making is taken over,
and is otherwise left to whoever put it there.
"""

from privatellm.kube import KubeClient, Manifest
from privatellm.kube.kinds import Kind
from privatellm_sync_agent.engine.events import Reason
from privatellm_sync_agent.engine.work import Verdict, Work
from privatellm_sync_agent.objects.ownership import LEGACY_FINALIZER, UID, finalizer_of


def held_by_us(work: Work) -> bool:
    """Return whether the object waits for this agent."""
    found = _finalizers(work.remote)
    ours = finalizer_of(work.publication.agent)
    return ours in found or (LEGACY_FINALIZER in found and _is_inherited(work.local))


def held_by_others(work: Work) -> bool:
    """Return whether somebody protects the object who is no agent of this kind: those would wait for us."""
    return any(not name.startswith(LEGACY_FINALIZER) for name in _finalizers(work.remote))


async def ensure(work: Work) -> Verdict:
    """Put our finalizer on the object before anything is made for it."""
    found = _finalizers(work.remote)
    ours = finalizer_of(work.publication.agent)
    if ours in found or work.is_deleting:  # Nobody can join a deletion that has begun.
        return None
    replaced = {LEGACY_FINALIZER} if _is_inherited(work.local) else set()
    wanted = [*(name for name in found if name not in replaced), ours]
    work.remote = await _write(work.workspace, work.publication.remote, work.remote, wanted)
    work.tell(Reason.ACCEPTED, "The object was accepted and is being set up by the provider.")
    return None


async def release(
    client: KubeClient, kind: Kind, live: Manifest, agent: str, *, legacy: bool = False
) -> None:
    """Take our finalizer off an object that was read live.

    Args:
        client: Client for the object's workspace.
        kind: Its kind there.
        live: The object as it was just read; the write fails when it changed since.
        agent: Whose finalizer it is.
        legacy: Take upstream's shared one off as well.
    """
    ours = {finalizer_of(agent), *([LEGACY_FINALIZER] if legacy else [])}
    found = _finalizers(live)
    kept = [name for name in found if name not in ours]
    if kept != found:
        await _write(client, kind, live, kept)


async def add(client: KubeClient, kind: Kind, live: Manifest, agent: str) -> None:
    """Put our finalizer on an object that is not being deleted."""
    found = _finalizers(live)
    if finalizer_of(agent) not in found and "deletionTimestamp" not in live["metadata"]:
        await _write(client, kind, live, [*found, finalizer_of(agent)])


def inherited(local: Manifest | None) -> bool:
    """Return whether a copy was made by upstream's agent and not touched by ours yet."""
    return _is_inherited(local)


def _is_inherited(local: Manifest | None) -> bool:
    annotations = (local or {"metadata": {}})["metadata"].get("annotations") or {}
    return local is not None and UID not in annotations


def _finalizers(manifest: Manifest) -> list[str]:
    return list(manifest["metadata"].get("finalizers") or [])


async def _write(
    client: KubeClient, kind: Kind, manifest: Manifest, finalizers: list[str]
) -> Manifest:
    metadata = manifest["metadata"]
    guard = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    body = {"metadata": guard | {"finalizers": finalizers}}
    return await client.patch(kind, metadata["name"], metadata.get("namespace"), body)
