"""What a hub says about a revision of a repository, as values. Pure.

The hub's ``GET /api/models/{repo}/revision/{revision}?blobs=true`` names the commit and every file with its
size; files that are kept by Git LFS, as weights are, come with their SHA-256.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from privatellm.api.llm_model import SHA256_PATTERN, HuggingFaceSource
from privatellm_cli.errors import HubError

COMMIT_PATTERN = r"^[0-9a-f]{40}$"


@dataclass(frozen=True, slots=True)
class Pin:
    """The bytes that a source names: nobody can change what is behind it.

    Attributes:
        commit: The commit of the repository.
        sha256: Digest of the file.
        size_bytes: Its size.
    """

    commit: str
    sha256: str
    size_bytes: int


class _Blob(BaseModel):
    model_config = ConfigDict(frozen=True)

    sha256: Annotated[str, Field(pattern=SHA256_PATTERN)]
    size: Annotated[int, Field(ge=1)]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True)

    rfilename: str
    lfs: _Blob | None = None


class _Revision(BaseModel):
    model_config = ConfigDict(frozen=True)

    sha: Annotated[str, Field(pattern=COMMIT_PATTERN)]
    siblings: tuple[_File, ...]


def pin_of(answer: bytes, source: HuggingFaceSource) -> Pin:
    """Return the bytes that a source names, by the hub's answer about its revision.

    Raises:
        HubError: when the answer is not the hub's, or names no such file or no digest of it.
    """
    try:
        revision = _Revision.model_validate_json(answer)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "the whole answer"
        raise HubError(
            f"The hub's answer about {source.repo} cannot be read ({where}: {fault['msg']}): is --mirror "
            "the base URL of a hub that speaks Hugging Face's protocol?"
        ) from error
    file = next((file for file in revision.siblings if file.rfilename == source.file), None)
    if file is None:
        raise HubError(_no_such_file(revision, source))
    if file.lfs is None:
        raise HubError(
            f"The hub keeps {source.file} of {source.repo} outside of Git LFS and tells no SHA-256 of it: "
            "declare spec.sha256 yourself."
        )
    return Pin(revision.sha, file.lfs.sha256, file.lfs.size)


def _no_such_file(revision: _Revision, source: HuggingFaceSource) -> str:
    models = sorted(f.rfilename for f in revision.siblings if f.rfilename.endswith(".gguf"))
    offered = f"it has {', '.join(models[:10])}" if models else "it has no GGUF file at all"
    return f"{source.repo} has no file {source.file} at {source.revision}; {offered}."
