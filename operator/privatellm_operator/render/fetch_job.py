"""The platform's own fetch: a Job in the operator's namespace.

It fills a node's shared cache, where tenants only read, and it takes the digest of a model that declares
none. Both need a place that no tenant can write to. It alone gets the hub's credential.

Its pods do not carry the labels of the operator's children: only the operator and the controllers of
Deployments may make pods with those, and the controller of Jobs also works for tenants.
"""

from privatellm import labels
from privatellm.api.llm_model import LLMModel
from privatellm.kube import Manifest, kinds
from privatellm.names import fetch_job_name, label_value
from privatellm_operator.render import extra_ca
from privatellm_operator.render.cache import VOLUME, model_space
from privatellm_operator.render.fetcher import container, mount
from privatellm_operator.render.security import pod_security
from privatellm_operator.render.source import (
    TERMINATION_LOG,
    fetch_arguments,
    file_name,
    recorded_digest,
    weights_of,
)
from privatellm_operator.settings import Settings

CACHE_DIRECTORY = "/cache"
HUB_TOKEN_DIRECTORY = "/hub"  # noqa: S105 - the name of a directory
HUB_TOKEN_FILE = "token"  # noqa: S105 - the name of a file
ATTEMPTS = 3
"""Pods that try before the Job counts as failed; each of them retries its downloads by itself."""


def build(model: LLMModel, settings: Settings, node: str = "") -> Manifest:
    """Return the Job.

    Args:
        model: What to fetch.
        settings: Where to, and what sources may be.
        node: The node whose cache is filled; empty to look at the bytes and keep none.
    """
    common = {
        labels.NAME: labels.MODEL_FETCHER,
        labels.PART_OF: labels.PART_OF_US,
        labels.LLM_MODEL: label_value(model.metadata.name),
    }
    return {
        "apiVersion": kinds.JOB.api_version,
        "kind": kinds.JOB.name,
        "metadata": {
            "name": fetch_job_name(weights_of(model), node),
            "namespace": settings.pod.namespace,
            "labels": common
            | {
                labels.WEIGHTS: weights_of(model),
                labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
            },
            "annotations": {labels.NODE: node} if node else {},
            "ownerReferences": [_owner(model)],
        },
        "spec": {
            "backoffLimit": ATTEMPTS - 1,
            "template": {"metadata": {"labels": common}, "spec": _pod(model, settings, node)},
        },
    }


def _owner(model: LLMModel) -> Manifest:
    return {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": kinds.LLM_MODEL.name,
        "name": model.metadata.name,
        "uid": model.metadata.uid,
        "controller": True,
    }


def _pod(model: LLMModel, settings: Settings, node: str) -> Manifest:
    pull_secrets = [{"name": name} for name in settings.servers.image_pull_secrets]
    return {
        # A failed pod stays, and with it what it said.
        "restartPolicy": "Never",
        "containers": [_container(model, settings)],
        "volumes": [
            _cache(model, settings, node),
            {"name": "tmp", "emptyDir": {}},
            *_hub_token(model, settings),
            *extra_ca.volumes_of_job(settings),
        ],
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        **(_on(node) if node else {}),
        **({"imagePullSecrets": pull_secrets} if pull_secrets else {}),
    }


def _container(model: LLMModel, settings: Settings) -> Manifest:
    output = f"{CACHE_DIRECTORY}/{weights_of(model)}/{file_name(model)}"
    recorded = recorded_digest(model)
    with_token = bool(_hub_token(model, settings))
    token = ["--hf-token-file", f"{HUB_TOKEN_DIRECTORY}/{HUB_TOKEN_FILE}"] if with_token else []
    arguments = [
        *fetch_arguments(model, settings.servers, output=output, sha256=recorded),
        *extra_ca.arguments(settings),
        *("--report", TERMINATION_LOG),
        *token,
    ]
    mounts = [
        mount(VOLUME, CACHE_DIRECTORY),
        mount("tmp", "/tmp"),  # noqa: S108 - an emptyDir
        *([mount("hub-token", HUB_TOKEN_DIRECTORY, read_only=True)] if with_token else []),
        *extra_ca.mounts(settings),
    ]
    return container(settings.servers, arguments, mounts)


def _cache(model: LLMModel, settings: Settings, node: str) -> Manifest:
    if not node:
        return {"name": VOLUME, "emptyDir": model_space(model)}
    directory = {"path": settings.cache.directory, "type": "DirectoryOrCreate"}
    return {"name": VOLUME, "hostPath": directory}


def _hub_token(model: LLMModel, settings: Settings) -> list[Manifest]:
    """Return the credential's volume; only a hub gets it."""
    if not settings.cache.hub_token_secret or model.spec.source.hugging_face is None:
        return []
    secret = {"secretName": settings.cache.hub_token_secret, "defaultMode": 0o440}
    return [{"name": "hub-token", "secret": secret}]


def _on(node: str) -> Manifest:
    """Return what binds a pod to a node by name, whatever its taints keep away."""
    by_name = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "tolerations": [{"operator": "Exists"}],
    }
