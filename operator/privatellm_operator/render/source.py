"""Where the weights come from and what they are called: from a model to the fetcher's arguments.

The file's name holds a digest of the source and of the declared checksum. So a changed source is another
file: in a cache that outlives pods, the old bytes can never be served as the new model, and nobody writes
over a file that a running server has mapped.
"""

from urllib.parse import quote

from privatellm.api.llm_model import LLMModel, ModelSource
from privatellm.kube import Manifest
from privatellm.names import weights_name
from privatellm_operator.render.instance import digest
from privatellm_operator.settings import ServerSettings

MODELS_DIRECTORY = "/models"
SOURCE_DIRECTORY = "/source"
"""Where a claim that holds the weights is mounted."""

TERMINATION_LOG = "/dev/termination-log"
"""Where Kubernetes takes a container's termination message from."""


def source_digest(model: LLMModel) -> str:
    """Return the digest of what decides which bytes the weights are."""
    spec = model.spec.to_kubernetes()
    return digest({name: spec.get(name) for name in ("source", "sha256")})


def weights_of(model: LLMModel) -> str:
    """Return what the model's present weights are called in every cache."""
    return weights_name(model.metadata.name, source_digest(model))


def file_name(model: LLMModel) -> str:
    """Return the name of the model's file."""
    return f"{weights_of(model)}.gguf"


def model_path(model: LLMModel) -> str:
    """Return the path of the model's file in the pod; its name is one that the platform chose."""
    return f"{MODELS_DIRECTORY}/{file_name(model)}"


def recorded_digest(model: LLMModel) -> str | None:
    """Return the digest that was recorded on first use of the model's present source.

    A declared digest makes every record meaningless.
    """
    status = model.status
    is_current = model.spec.sha256 is None and status.recorded_for == source_digest(model)
    return status.sha256 if is_current else None


def is_recordable(model: LLMModel) -> bool:
    """Say whether the platform can see the model's bytes for itself.

    A claim in the instance's namespace holds what the tenant put there, and another one's claim of the
    same name may hold something else.
    """
    return model.spec.source.pvc is None


def fetch_arguments(
    model: LLMModel, settings: ServerSettings, *, output: str = "", sha256: str | None = None
) -> list[str]:
    """Return the fetcher's arguments: each value a word of its own, no shell anywhere.

    Args:
        model: What to fetch.
        settings: What sources may be.
        output: Where the file goes; empty for its place in an instance's pod.
        sha256: A digest to hold it to when the model declares none.
    """
    spec = model.spec
    expected = spec.sha256 or sha256
    return [
        "--output",
        output or model_path(model),
        *(["--sha256", expected] if expected else []),
        *(["--size-bytes", str(spec.size_bytes)] if spec.size_bytes else []),
        *_source_arguments(spec.source),
        *(["--mirror", settings.mirror] if settings.mirror else []),
        *(["--allow-file-sources"] if settings.allow_file_sources else []),
        *(["--allow-private-sources"] if settings.allow_private_sources else []),
    ]


def source_volumes(model: LLMModel) -> list[Manifest]:
    """Return the volume that holds the weights, when they lie on a claim."""
    pvc = model.spec.source.pvc
    if pvc is None:
        return []
    claim = {"claimName": pvc.claim_name, "readOnly": True}
    return [{"name": "source", "persistentVolumeClaim": claim}]


def _source_arguments(source: ModelSource) -> list[str]:
    if source.hugging_face is not None:
        hub = source.hugging_face
        return ["--hf-repo", hub.repo, "--hf-file", hub.file, "--hf-revision", hub.revision]
    if source.pvc is not None:
        return ["--path", f"{SOURCE_DIRECTORY}/{source.pvc.path.lstrip('/')}"]
    if source.s3 is not None:
        s3 = source.s3
        # A key may hold any character; only the slash keeps its meaning in a path.
        return ["--url", f"{s3.endpoint.rstrip('/')}/{quote(s3.bucket)}/{quote(s3.key)}"]
    return ["--url", source.url or ""]
