"""Where the weights come from and where they lie in the pod: from a model to the fetcher's arguments."""

from privatellm.api.llm_model import LLMModel, ModelSource
from privatellm.kube import Manifest
from privatellm_operator.settings import ServerSettings

MODELS_DIRECTORY = "/models"
SOURCE_DIRECTORY = "/source"
"""Where a claim that holds the weights is mounted."""


def model_path(model: LLMModel) -> str:
    """Return the path of the model's file in the pod; its name is one that the platform chose."""
    return f"{MODELS_DIRECTORY}/{model.metadata.name}.gguf"


def fetch_arguments(model: LLMModel, settings: ServerSettings) -> list[str]:
    """Return the fetcher's arguments: each value a word of its own, no shell anywhere."""
    spec = model.spec
    return [
        "--output",
        model_path(model),
        *(["--sha256", spec.sha256] if spec.sha256 else []),
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
        return ["--url", f"{s3.endpoint.rstrip('/')}/{s3.bucket}/{s3.key}"]
    return ["--url", source.url or ""]
