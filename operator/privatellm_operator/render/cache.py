"""Where an instance's pods find the weights, by the platform's cache mode.

``ephemeral``: an emptyDir that the pod's fetcher fills. ``persistentVolumeClaim``: a claim in the tenant's
namespace that the fetcher fills once. ``hostPath``: a directory of the node that the platform's own Job
fills; tenants' pods see their model's part of it read-only, and their fetcher only waits.

A claim is named after the weights, so a changed source moves to a claim of its own and the old one is freed
when its last pod is gone.
"""

import math
from collections.abc import Iterable

from privatellm import labels
from privatellm.api.llm_model import LLMModel
from privatellm.kube import Manifest, kinds
from privatellm.names import claim_name, label_value
from privatellm_operator.render.source import weights_of
from privatellm_operator.settings import CacheMode, CacheSettings

VOLUME = "models"
_MIB = 2**20
_SPACE_BESIDE_MODEL_MIB = 64
_FILE_SYSTEM_SHARE = 1.1
"""What a file system keeps for itself: journal, inodes, reserved blocks."""


def mode_of(model: LLMModel, settings: CacheSettings) -> CacheMode:
    """Return how a model's weights are kept.

    A model on a claim in the tenant's namespace is local to it already: there is nothing to save, and the
    platform's Job could not read it.
    """
    return CacheMode.EPHEMERAL if model.spec.source.pvc is not None else settings.mode


def models_volume(model: LLMModel, settings: CacheSettings) -> Manifest:
    """Return the volume in which an instance's pods find the weights."""
    match mode_of(model, settings):
        case CacheMode.EPHEMERAL:
            return {"name": VOLUME, "emptyDir": model_space(model)}
        case CacheMode.CLAIM:
            name = settings.claim or claim_name(weights_of(model))
            return {"name": VOLUME, "persistentVolumeClaim": {"claimName": name}}
        case CacheMode.HOST_PATH:
            # Not created here: the node would make it for root alone. The Job makes it.
            path = f"{settings.directory.rstrip('/')}/{weights_of(model)}"
            return {"name": VOLUME, "hostPath": {"path": path, "type": "Directory"}}


def has_own_claim(model: LLMModel, settings: CacheSettings) -> bool:
    """Say whether the operator makes a claim for the model in each namespace that uses it."""
    return mode_of(model, settings) is CacheMode.CLAIM and not settings.claim


def pod_labels(model: LLMModel, settings: CacheSettings) -> dict[str, str]:
    """Return the label by which the pods of one claim find each other."""
    return {labels.WEIGHTS: weights_of(model)} if has_own_claim(model, settings) else {}


def placement(model: LLMModel, settings: CacheSettings) -> Manifest:
    """Return the pod's affinity: a claim that one node may mount keeps its pods on that node."""
    if not has_own_claim(model, settings) or settings.access_mode != "ReadWriteOnce":
        return {}
    together = {
        "labelSelector": {"matchLabels": {labels.WEIGHTS: weights_of(model)}},
        "topologyKey": "kubernetes.io/hostname",
    }
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [together]}
    return {"affinity": {"podAffinity": terms}}


def claim(
    model: LLMModel, settings: CacheSettings, namespace: str, users: Iterable[Manifest]
) -> Manifest:
    """Return the claim that keeps a model's weights in a namespace.

    Every user owns it and none controls it, so that the garbage collector frees it with the last one.

    Args:
        model: Whose weights it keeps.
        settings: How claims are made.
        namespace: Where the users are.
        users: The LLMInstances that use it, one or more.
    """
    chosen = {"storageClassName": settings.storage_class} if settings.storage_class else {}
    return {
        "apiVersion": kinds.PERSISTENT_VOLUME_CLAIM.api_version,
        "kind": kinds.PERSISTENT_VOLUME_CLAIM.name,
        "metadata": {
            "name": claim_name(weights_of(model)),
            "namespace": namespace,
            "labels": {
                labels.NAME: labels.MODEL_CACHE,
                labels.LLM_MODEL: label_value(model.metadata.name),
                labels.PART_OF: labels.PART_OF_US,
                labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
            },
            "ownerReferences": sorted(map(_owner, users), key=lambda owner: str(owner["uid"])),
        },
        "spec": {
            "accessModes": [settings.access_mode],
            "resources": {"requests": {"storage": _claim_size(model, settings)}},
            **chosen,
        },
    }


def is_ours(claim: Manifest) -> bool:
    """Say whether a claim was made by the operator."""
    found = claim["metadata"].get("labels") or {}
    return bool(found.get(labels.MANAGED_BY) == labels.MANAGED_BY_OPERATOR)


def _owner(instance: Manifest) -> Manifest:
    metadata = instance["metadata"]
    return {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": kinds.LLM_INSTANCE.name,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def _claim_size(model: LLMModel, settings: CacheSettings) -> str:
    if model.spec.size_bytes is None:
        return settings.claim_size
    needed = model.spec.size_bytes * _FILE_SYSTEM_SHARE / _MIB + _SPACE_BESIDE_MODEL_MIB
    return f"{math.ceil(needed)}Mi"


def model_space(model: LLMModel) -> Manifest:
    """Limit the space for the weights when their size is known, so that a node's disk stays usable."""
    if model.spec.size_bytes is None:
        return {}
    mebibytes = math.ceil(model.spec.size_bytes / _MIB) + _SPACE_BESIDE_MODEL_MIB
    return {"sizeLimit": f"{mebibytes}Mi"}
