"""LLMModels as they stand in files, and what pinning changes in them. Pure.

A declared digest or size is a promise of a person, so it is compared and never replaced. Everything else of
a manifest stays as it is, documents of other kinds too; only comments are lost.
"""

from typing import Any

import yaml
from pydantic import ValidationError

from privatellm.api.llm_model import HuggingFaceSource, LLMModel
from privatellm.errors import InvalidObjectError
from privatellm.kube import Manifest
from privatellm_cli.errors import HubError
from privatellm_cli.pinning.answers import Pin

_STORED_ONLY = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
"""What the API server adds to metadata, which a file does not hold."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def read(text: str, origin: str) -> list[Manifest]:
    """Return the documents of a YAML file, of which one at least is an LLMModel.

    Args:
        text: The file.
        origin: What it is called.

    Raises:
        InvalidObjectError: when it is no YAML, or holds no LLMModel or a broken one.
    """
    try:
        documents = [found for found in yaml.safe_load_all(text) if found is not None]
    except yaml.YAMLError as error:
        raise InvalidObjectError(f"{origin} is no YAML: {' '.join(str(error).split())}") from error
    if not any(is_model(found) for found in documents):
        raise InvalidObjectError(
            f"{origin} holds no {LLMModel.KIND.name} (apiVersion {LLMModel.KIND.api_version})."
        )
    for found in filter(is_model, documents):
        source_of(found)
    return documents


def is_model(document: Any) -> bool:
    """Say whether a document is an LLMModel."""
    wanted = (LLMModel.KIND.api_version, LLMModel.KIND.name)
    return isinstance(document, dict) and (
        (document.get("apiVersion"), document.get("kind")) == wanted
    )


def name_of(model: Manifest) -> str:
    """Return a model's name, for messages."""
    return str((model.get("metadata") or {}).get("name") or "without a name")


def source_of(model: Manifest) -> HuggingFaceSource | None:
    """Return the hub's file that a model names; ``None`` when its weights come from elsewhere.

    Raises:
        InvalidObjectError: when the model breaks the rules of its type.
    """
    content = {key: value for key, value in model.items() if key not in ("apiVersion", "kind")}
    try:
        return LLMModel.model_validate(content, extra="forbid").spec.source.hugging_face
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise InvalidObjectError(f"LLMModel {name_of(model)} is not valid: {faults}.") from error


def pinned(model: Manifest, pin: Pin) -> Manifest:
    """Return a model that names exactly these bytes.

    Raises:
        HubError: when the model declares other ones.
    """
    spec = model["spec"]
    _require_same(model, "sha256", pin.sha256)
    _require_same(model, "sizeBytes", pin.size_bytes)
    hub = spec["source"]["huggingFace"] | {"revision": pin.commit}
    digest = {"sha256": pin.sha256, "sizeBytes": pin.size_bytes}
    kept = {key: value for key, value in spec.items() if key not in digest}
    changed: Manifest = {}
    for key, value in kept.items():
        # Beside the source, where a reader looks for them.
        changed |= {key: {"huggingFace": hub}, **digest} if key == "source" else {key: value}
    return model | {"spec": changed}


def as_written(stored: Manifest) -> Manifest:
    """Return a stored model as a person would have written it."""
    metadata = {k: v for k, v in stored["metadata"].items() if k not in _STORED_ONLY}
    annotations = {
        k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != _LAST_APPLIED
    }
    named = metadata | ({"annotations": annotations} if annotations else {})
    named.pop("finalizers", None)
    kind = {"apiVersion": LLMModel.KIND.api_version, "kind": LLMModel.KIND.name}
    return kind | {"metadata": named, "spec": stored["spec"]}


def text_of(documents: list[Manifest]) -> str:
    """Return documents as a YAML file."""
    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True)


def _require_same(model: Manifest, field: str, seen: str | int) -> None:
    declared = model["spec"].get(field)
    if declared is None or declared == seen:
        return
    raise HubError(
        f"LLMModel {name_of(model)} declares {field} {declared}, but the hub has {seen}: the file was "
        f"changed. Name the revision that had it, or remove {field} to take the file as it is now."
    )
