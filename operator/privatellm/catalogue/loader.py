"""Read ``LLMModel`` manifests from a directory, strictly.

The API server drops unknown fields silently, and a misspelt ``sha265`` would switch off a check
without a word. So a catalogue file is refused for a field that the type does not have. One bad file
refuses the whole directory: half a catalogue would look like deletions.
"""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from privatellm.api.llm_model import LLMModel
from privatellm.errors import InvalidObjectError


def default_directory() -> Path:
    """Return where the models that we ship are."""
    return Path(__file__).parent / "models"


def load_catalogue(directory: Path) -> tuple[dict[str, Any], ...]:
    """Read every ``*.yaml`` file of a directory as one LLMModel manifest.

    Args:
        directory: The directory; files whose name begins with a dot are not ours.

    Returns:
        The manifests as they stand in the files, sorted by name.

    Raises:
        InvalidObjectError: A file cannot be read, is no valid LLMModel or repeats a name.
    """
    if not directory.is_dir():
        raise InvalidObjectError(
            f"The catalogue {directory} is not a directory; give one with a YAML file a model."
        )
    manifests: dict[str, dict[str, Any]] = {}
    for path in sorted(directory.glob("[!.]*.yaml")):
        manifest = read_model(path)
        name = manifest["metadata"]["name"]
        if name in manifests:
            raise InvalidObjectError(
                f"The catalogue file {path} repeats the model {name}; a name stands for one model."
            )
        manifests[name] = manifest
    return tuple(manifests[name] for name in sorted(manifests))


def read_model(path: Path) -> dict[str, Any]:
    """Read one file as one LLMModel manifest.

    Raises:
        InvalidObjectError: The file cannot be read or is no valid LLMModel.
    """
    try:
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InvalidObjectError(f"The catalogue file {path} cannot be read: {reason}.") from error
    if not isinstance(manifest, dict) or _type_of(manifest) != _type_of(_EXPECTED):
        raise InvalidObjectError(
            f"The catalogue file {path} holds one object with apiVersion "
            f"{_EXPECTED['apiVersion']} and kind {_EXPECTED['kind']}, and nothing else."
        )
    _validate(path, manifest)
    return manifest


_EXPECTED = {"apiVersion": LLMModel.KIND.api_version, "kind": LLMModel.KIND.name}


def _type_of(manifest: dict[str, Any]) -> tuple[Any, Any]:
    return manifest.get("apiVersion"), manifest.get("kind")


def _validate(path: Path, manifest: dict[str, Any]) -> None:
    content = {key: value for key, value in manifest.items() if key not in _EXPECTED}
    try:
        LLMModel.model_validate(content, extra="forbid")
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise InvalidObjectError(f"The catalogue file {path} is not valid: {faults}.") from error
