"""Whose pass a changed object asks for: pure look-ups from an object to keys."""

from collections.abc import Iterator

from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import label_value
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
        yield from _shared_by(manifest, world)
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
    elif kind is kinds.PERSISTENT_VOLUME_CLAIM:
        yield Key(kind, namespace, name)
        yield from _owners(manifest)
    elif kind is kinds.NAMESPACE:
        if metadata.get("deletionTimestamp"):
            yield from dependants_in(world, name, platform)
    elif kind is kinds.JOB:
        yield from _models_of_job(manifest, world)
    else:
        yield from _parents(manifest, world)


def all_parents(world: World) -> Iterator[Key]:
    """Yield the key of every parent that is known, for the first pass after a start."""
    for kind in (kinds.LLM_MODEL, kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST):
        yield from _keys(kind, world[kind].all())


def dependants_in(world: World, namespace: str | None, platform: Key) -> Iterator[Key]:
    """Yield what depends on the rights and definitions of a namespace.

    Everything does on those of the operator's own, and of all namespaces, which ``None`` stands for.
    """
    if namespace is None or namespace == platform.namespace:
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
    """A pod names its instance by a label value, which may be a shortened name.

    Its model's pass looks as well, because a pod may wait for weights that the platform fetches.
    """
    for instance in world[kinds.LLM_INSTANCE].find(term):
        yield Key(kinds.LLM_INSTANCE, namespace, instance["metadata"]["name"])
        yield Key(kinds.LLM_MODEL, "", _model(instance))


def _shared_by(instance: Manifest, world: World) -> Iterator[Key]:
    """Yield what an instance shares with others: its model, its claims, and models that wait to go.

    A model is held by its users. Which one an instance used before is not known any more, so all models
    that somebody wants deleted look again; they are few.
    """
    yield Key(kinds.LLM_MODEL, "", _model(instance))
    yield from _keys(
        kinds.PERSISTENT_VOLUME_CLAIM,
        world[kinds.PERSISTENT_VOLUME_CLAIM].find(instance["metadata"]["uid"]),
    )
    for model in world[kinds.LLM_MODEL].all():
        if model["metadata"].get("deletionTimestamp"):
            yield Key(kinds.LLM_MODEL, "", model["metadata"]["name"])


def _owners(claim: Manifest) -> Iterator[Key]:
    for owner in claim["metadata"].get("ownerReferences") or ():
        if owner["kind"] == kinds.LLM_INSTANCE.name:
            yield Key(kinds.LLM_INSTANCE, claim["metadata"]["namespace"], owner["name"])


def _models_of_job(job: Manifest, world: World) -> Iterator[Key]:
    """A Job names its model by a label value, which may be a shortened name."""
    wanted = _label(job, labels.LLM_MODEL)
    for model in world[kinds.LLM_MODEL].all():
        if label_value(model["metadata"]["name"]) == wanted:
            yield Key(kinds.LLM_MODEL, "", model["metadata"]["name"])


def _model(instance: Manifest) -> str:
    return str((instance.get("spec") or {}).get("model", ""))


def _requests(world: World, term: str) -> Iterator[Key]:
    return _keys(kinds.API_TOKEN_REQUEST, world[kinds.API_TOKEN_REQUEST].find(term))


def _keys(kind: Kind, manifests: tuple[Manifest, ...]) -> Iterator[Key]:
    for manifest in manifests:
        metadata = manifest["metadata"]
        yield Key(kind, metadata.get("namespace", ""), metadata["name"])


def _label(manifest: Manifest, label: str) -> str:
    return str((manifest["metadata"].get("labels") or {}).get(label, ""))
