"""Whose pass a changed object asks for: pure look-ups from an object to keys."""

from collections.abc import Iterator

from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm_operator.queue import Key
from privatellm_operator.world.cache import World
from privatellm_operator.world.watched import controller_of, in_namespace

PARENT_KINDS = {kind.name: kind for kind in (kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST)}


def keys_of(kind: Kind, manifest: Manifest, world: World, platform: Key) -> Iterator[Key]:
    """Yield the key of every object that depends on the changed one.

    Args:
        kind: The changed object's kind.
        manifest: The changed object.
        world: For references that point the other way.
        platform: The key of what all instances share.
    """
    metadata = manifest["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if kind is kinds.LLM_INSTANCE:
        yield Key(kind, namespace, name)
        yield from _requests(world, in_namespace(namespace, name))
    elif kind is kinds.API_TOKEN_REQUEST:
        yield Key(kind, namespace, name)
    elif kind is kinds.LLM_MODEL:
        yield Key(kind, "", name)
        yield platform
        yield from _keys(kinds.LLM_INSTANCE, world[kinds.LLM_INSTANCE].find(name))
    elif kind is kinds.MIDDLEWARE:
        yield platform
    elif kind is kinds.POD:
        term = in_namespace(namespace, _label(manifest, labels.LLM_INSTANCE))
        yield from _instances_of_pod(world, namespace, term)
    else:
        yield from _parents(manifest, world)


def all_parents(world: World) -> Iterator[Key]:
    """Yield the key of every parent that is known, for the first pass after a start."""
    for kind in (kinds.LLM_MODEL, kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST):
        yield from _keys(kind, world[kind].all())


def dependants_in(world: World, namespace: str, platform: Key) -> Iterator[Key]:
    """Yield what depends on the rights and definitions of a namespace; on the operator's own, all does."""
    if namespace == platform.namespace:
        yield platform
        yield from all_parents(world)
        return
    term = in_namespace(namespace, "")
    yield from _keys(kinds.LLM_INSTANCE, world[kinds.LLM_INSTANCE].find(term))
    yield from _requests(world, term)


def platform_key(namespace: str) -> Key:
    """Return the key of what all instances share: the middlewares in the operator's namespace."""
    return Key(kinds.MIDDLEWARE, namespace, "private-llm")


def _parents(manifest: Manifest, world: World) -> Iterator[Key]:
    controller = controller_of(manifest)
    if controller is not None and controller["kind"] in PARENT_KINDS:
        kind = PARENT_KINDS[controller["kind"]]
        yield Key(kind, manifest["metadata"]["namespace"], controller["name"])
    request = _label(manifest, labels.REQUEST_UID)
    if request:
        yield from _requests(world, request)


def _instances_of_pod(world: World, namespace: str, term: str) -> Iterator[Key]:
    """A pod names its instance by a label value, which may be a shortened name."""
    for instance in world[kinds.LLM_INSTANCE].find(term):
        yield Key(kinds.LLM_INSTANCE, namespace, instance["metadata"]["name"])


def _requests(world: World, term: str) -> Iterator[Key]:
    return _keys(kinds.API_TOKEN_REQUEST, world[kinds.API_TOKEN_REQUEST].find(term))


def _keys(kind: Kind, manifests: tuple[Manifest, ...]) -> Iterator[Key]:
    for manifest in manifests:
        metadata = manifest["metadata"]
        yield Key(kind, metadata.get("namespace", ""), metadata["name"])


def _label(manifest: Manifest, label: str) -> str:
    return str((manifest["metadata"].get("labels") or {}).get(label, ""))
