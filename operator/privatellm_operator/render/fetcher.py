"""The container that brings the weights: in an instance's pod, and in the platform's own Job."""

from collections.abc import Iterable

from privatellm.api.llm_model import LLMModel
from privatellm.kube import Manifest
from privatellm_operator.render import extra_ca
from privatellm_operator.render.cache import VOLUME, mode_of
from privatellm_operator.render.security import container_security
from privatellm_operator.render.source import (
    MODELS_DIRECTORY,
    SOURCE_DIRECTORY,
    TERMINATION_LOG,
    fetch_arguments,
    is_recordable,
    source_digest,
)
from privatellm_operator.settings import CacheMode, ServerSettings, Settings

FETCHER = "fetch-model"
PROGRESS_PORT = 8002
"""Where the operator asks a running fetch how far it is."""

EXPECTED_DIRECTORY = "/expected"
EXPECTED_VOLUME = "expected-digest"
EXPECTED_FILE = "sha256"


def init_container(model: LLMModel, settings: Settings) -> Manifest:
    """Return the init container of an instance's pod."""
    is_filled_by_platform = mode_of(model, settings.cache) is CacheMode.HOST_PATH
    mounts = [
        mount(VOLUME, MODELS_DIRECTORY, read_only=is_filled_by_platform),
        mount("tmp", "/tmp"),  # noqa: S108 - an emptyDir
        *([mount("source", SOURCE_DIRECTORY, read_only=True)] if model.spec.source.pvc else []),
        *([mount(EXPECTED_VOLUME, EXPECTED_DIRECTORY, read_only=True)] if _is_held(model) else []),
        *extra_ca.mounts(settings),
    ]
    arguments = [
        *fetch_arguments(model, settings.servers),
        *extra_ca.arguments(settings),
        *_first_use(model),
        *("--report", TERMINATION_LOG),
        *(["--wait"] if is_filled_by_platform else []),
    ]
    return container(settings.servers, arguments, mounts)


def expected_volumes(model: LLMModel, key_secret: str) -> list[Manifest]:
    """Return the volume with the digest that was recorded on first use, for models that declare none.

    It is optional and named after the source: a digest that is recorded later holds for the next fetch
    of the same source, and changes nothing about pods that run.

    Args:
        model: What is fetched.
        key_secret: Name of the instance's Secret, which also carries the digest.
    """
    if not _is_held(model):
        return []
    items = [{"key": expected_key(model), "path": EXPECTED_FILE}]
    secret = {"secretName": key_secret, "items": items, "optional": True, "defaultMode": 0o440}
    return [{"name": EXPECTED_VOLUME, "secret": secret}]


def expected_key(model: LLMModel) -> str:
    """Return the Secret's data key for the digest of the model's present source."""
    return f"sha256-{source_digest(model)}"


def container(
    settings: ServerSettings, arguments: Iterable[str], mounts: Iterable[Manifest]
) -> Manifest:
    """Return the fetcher's container; it can be asked for its progress while it runs.

    Args:
        settings: Its image.
        arguments: What to fetch.
        mounts: Where it writes.
    """
    pod_ip = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    shown_at = ["--progress-host", "$(POD_IP)", "--progress-port", str(PROGRESS_PORT)]
    return {
        "name": FETCHER,
        "image": settings.fetcher_image,
        "command": ["privatellm-fetch"],
        "args": [*arguments, *shown_at],
        "env": [{"name": "POD_IP", "valueFrom": pod_ip}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "1Gi"},
        },
        "volumeMounts": list(mounts),
        "securityContext": container_security(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _is_held(model: LLMModel) -> bool:
    """Whether a digest may be recorded, to which later fetches are held."""
    return model.spec.sha256 is None and is_recordable(model)


def _first_use(model: LLMModel) -> list[str]:
    if not _is_held(model):
        return []
    expected = f"{EXPECTED_DIRECTORY}/{EXPECTED_FILE}"
    return ["--sha256-file", expected]


def mount(name: str, path: str, *, read_only: bool = False) -> Manifest:
    """Return a volume's mount."""
    return {"name": name, "mountPath": path} | ({"readOnly": True} if read_only else {})
