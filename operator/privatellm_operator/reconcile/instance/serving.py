"""Which model the servers that answer serve, read from their own pods: pure.

After a change of the order, or of its model, servers of before go on until new ones take over. What is
served is what customers get from the endpoint, so it is read from the pods and not from the order. While
several serve different weights, the older ones count: the new model is served when nothing else is.
"""

from collections.abc import Iterator

from privatellm.api.llm_instance import ServedModel
from privatellm.kube import Manifest, kinds
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.render.deployment import SERVER
from privatellm_operator.render.fetcher import FETCHER
from privatellm_operator.render.source import model_path, recorded_digest
from privatellm_operator.world.watched import seniority


def served_model(world: InstanceWorld) -> ServedModel | None:
    """Return what is served; while nobody answers, what a server that starts would serve."""
    return still_served(world) or _ordered_model(world)


def still_served(world: InstanceWorld) -> ServedModel | None:
    """Return what is served although it is not what is ordered now; ``None`` when that is served alone."""
    others = (pod for pod in _answering(world) if not _has_ordered_weights(pod, world))
    oldest = min(others, key=seniority, default=None)
    return _model_of(oldest, world) if oldest is not None else None


def serves_ordered(world: InstanceWorld) -> bool:
    """Say whether a server with the weights that are ordered answers, as far as pods tell."""
    answering = tuple(_answering(world))
    return not answering or any(_has_ordered_weights(pod, world) for pod in answering)


def meanwhile(world: InstanceWorld) -> str:
    """Return a sentence on what goes on being served, to follow another one; empty when nothing does."""
    served = still_served(world)
    if served is None:
        return ""
    ordered = world.instance.spec.model
    if served.name == ordered:
        return f" Until then {ordered} is served as it was before the change of the catalogue."
    return f" Until {ordered} can be served, {served.name} is."


def deployed_model(world: InstanceWorld) -> str:
    """Return the name of the model that the Deployment is for; empty while there is none."""
    for (kind, _), live in world.children.items():
        if kind is kinds.DEPLOYMENT and world.is_ours(live):
            return _option(live["spec"]["template"], "containers", SERVER, "--alias")
    return ""


def _answering(world: InstanceWorld) -> Iterator[Manifest]:
    return (
        pod
        for pod in world.pods
        if not pod["metadata"].get("deletionTimestamp") and _is_ready(pod) and _alias(pod)
    )


def _is_ready(pod: Manifest) -> bool:
    found = (pod.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in found)


def _has_ordered_weights(pod: Manifest, world: InstanceWorld) -> bool:
    output = _option(pod, "initContainers", FETCHER, "--output")
    return world.model is not None and output == model_path(world.model)


def _ordered_model(world: InstanceWorld) -> ServedModel | None:
    if world.model is None:
        return None
    digest = world.model.spec.sha256 or recorded_digest(world.model)
    return ServedModel(name=world.model.metadata.name, sha256=digest)


def _model_of(pod: Manifest, world: InstanceWorld) -> ServedModel:
    """Return what a pod serves; a digest that was recorded for it is known from what was said before."""
    name, before = _alias(pod), world.instance.status.model
    declared = _option(pod, "initContainers", FETCHER, "--sha256")
    if not declared and before is not None and before.name == name:
        return before
    return ServedModel(name=name, sha256=declared or None)


def _alias(pod: Manifest) -> str:
    return _option(pod, "containers", SERVER, "--alias")


def _option(pod: Manifest, field: str, container: str, option: str) -> str:
    """Return the word behind an option of a container of a pod or of a pod's template."""
    for found in (pod.get("spec") or {}).get(field) or ():
        arguments: list[str] = found.get("args") or []
        if found["name"] == container and option in arguments[:-1]:
            return arguments[arguments.index(option) + 1]
    return ""
