"""The Deployment of an instance: a fetcher that brings the weights, then the model server and its drain.

The pods fit the restricted profile of the pod security standards and carry no token of a service account.
The pod template names the digest of everything that decides which bytes are served, so that a changed
source, checksum or argument rolls the pods; and the digest of the backend key, so that a replaced platform
key does.
"""

import math

from privatellm.api.llm_model import LLMModel, LLMModelSpec
from privatellm.kube import Manifest, kinds
from privatellm.names import backend_key_name
from privatellm_operator.render import cache, drain, extra_ca, fetcher
from privatellm_operator.render.instance import (
    InstanceFacts,
    child,
    common_labels,
    digest,
    selector_labels,
)
from privatellm_operator.render.placement import placement, strategy
from privatellm_operator.render.security import container_security, pod_security
from privatellm_operator.render.server import KEYS_DIRECTORY, server_arguments
from privatellm_operator.render.service import HTTP_PORT
from privatellm_operator.render.source import MODELS_DIRECTORY, source_volumes
from privatellm_operator.settings import ServerSettings

SERVER = "llama-server"
MODEL_DIGEST_ANNOTATION = f"{kinds.GROUP}/model-digest"

KEY_DIGEST_ANNOTATION = f"{kinds.GROUP}/backend-key-digest"
"""llama.cpp reads its key once, so another platform key must roll the pods. A digest of 256 random bits."""

STARTUP_PERIOD_SECONDS = 2
"""Short, so that a small model is served as soon as it is loaded."""

TEMPORARY_SPACE = "512Mi"

LIVENESS_PERIOD_SECONDS = 30
HUNG_AFTER_SECONDS = 600
"""Without one answer for so long a server hangs; clients of the OpenAI API wait no longer either."""

HUNG_GRACE_SECONDS = 5
"""Time that a hung server has to end; the drain would wait for it for the pod's whole grace period."""


def build(facts: InstanceFacts) -> Manifest:
    """Return the Deployment."""
    settings = facts.settings.servers
    spec = {
        "replicas": facts.instance.spec.replicas,
        "selector": {"matchLabels": selector_labels(facts.instance)},
        "strategy": strategy(facts.model, facts.instance.spec.replicas),
        "progressDeadlineSeconds": settings.cold_load_seconds + 600,
        "revisionHistoryLimit": 2,
        "template": _template(facts),
    }
    return child(kinds.DEPLOYMENT, facts, {"spec": spec})


def _template(facts: InstanceFacts) -> Manifest:
    model, settings = facts.model, facts.settings.servers
    annotations = {
        MODEL_DIGEST_ANNOTATION: model_digest(model),
        KEY_DIGEST_ANNOTATION: digest({"backend-key": facts.backend_key}),
    }
    pull_secrets = [{"name": name} for name in settings.image_pull_secrets]
    spec = {
        "initContainers": [fetcher.init_container(model, facts.settings)],
        "containers": [_server(model, settings), drain.container(settings)],
        "volumes": _volumes(facts),
        "dnsPolicy": facts.instance.spec.dns_policy.value,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": settings.grace_period_seconds,
        "securityContext": pod_security(),
        **placement(model, settings),
    }
    return {
        "metadata": {
            "labels": common_labels(facts.instance) | cache.pod_labels(model, facts.settings.cache),
            "annotations": annotations,
        },
        "spec": spec
        | cache.placement(model, facts.settings.cache)
        | ({"imagePullSecrets": pull_secrets} if pull_secrets else {}),
    }


def model_digest(model: LLMModel) -> str:
    """Return the digest of everything that decides which bytes are served, and how."""
    spec = model.spec.to_kubernetes()
    deciding = ("source", "sha256", "chatTemplate", "extraArguments", "runtime")
    return digest({name: spec.get(name) for name in deciding})


def _server(model: LLMModel, settings: ServerSettings) -> Manifest:
    pod_ip = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    return {
        "name": SERVER,
        "image": model.spec.server.image or settings.server_image,
        "args": server_arguments(model),
        "env": [{"name": "POD_IP", "valueFrom": pod_ip}],
        "ports": [{"name": "http", "containerPort": HTTP_PORT, "protocol": "TCP"}],
        "volumeMounts": [
            _mount("models", MODELS_DIRECTORY, read_only=True),
            _mount("backend-key", KEYS_DIRECTORY, read_only=True),
            _mount("tmp", "/tmp"),  # noqa: S108 - an emptyDir
        ],
        **_resources(model.spec),
        **_probes(settings),
        "lifecycle": {"preStop": drain.pre_stop_hook()},
        "securityContext": container_security(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _probes(settings: ServerSettings) -> Manifest:
    """Ask for health until loaded, for routing, and with very much patience to stay alive.

    Health is answered beside the work, so no prompt is long enough to trip any of these. A server with more
    requests in hand than it has threads for answers late: it gets no new ones, and works off what it has
    long before its life is in question. A port proves nothing: the kernel accepts for a server that hangs.
    """
    health = {"httpGet": {"path": "/health", "port": HTTP_PORT, "scheme": "HTTP"}}
    return {
        "startupProbe": health
        | {
            "periodSeconds": STARTUP_PERIOD_SECONDS,
            "timeoutSeconds": 5,
            "failureThreshold": math.ceil(settings.cold_load_seconds / STARTUP_PERIOD_SECONDS),
        },
        "readinessProbe": health | {"periodSeconds": 5, "timeoutSeconds": 5, "failureThreshold": 6},
        "livenessProbe": health
        | {
            "periodSeconds": LIVENESS_PERIOD_SECONDS,
            "timeoutSeconds": 10,
            "failureThreshold": HUNG_AFTER_SECONDS // LIVENESS_PERIOD_SECONDS,
            "terminationGracePeriodSeconds": HUNG_GRACE_SECONDS,
        },
    }


def _resources(spec: LLMModelSpec) -> Manifest:
    resources, gpu = spec.resources, spec.gpu
    devices = {gpu.resource: gpu.count} if gpu else {}
    wanted = {
        "requests": dict(resources.requests),
        "limits": dict(resources.limits) | devices,
    }
    given = {side: quantities for side, quantities in wanted.items() if quantities}
    return {"resources": given} if given else {}


def _volumes(facts: InstanceFacts) -> list[Manifest]:
    key: Manifest = {
        "secretName": backend_key_name(facts.instance.metadata.name),
        "defaultMode": 0o440,
    }
    return [
        cache.models_volume(facts.model, facts.settings.cache),
        {"name": "backend-key", "secret": key},
        {"name": "tmp", "emptyDir": {"sizeLimit": TEMPORARY_SPACE}},
        *source_volumes(facts.model),
        *fetcher.expected_volumes(facts.model, key["secretName"]),
        *extra_ca.volumes_of_instance(facts.settings, key["secretName"]),
    ]


def _mount(name: str, path: str, *, read_only: bool = False) -> Manifest:
    return {"name": name, "mountPath": path} | ({"readOnly": True} if read_only else {})
