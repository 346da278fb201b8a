"""What is to be fetched, as values.

A source is exactly one of three shapes; ``describe`` names it for people and logs without the query
of a URL, which may carry a signature, and ``identity`` tells whether two requests mean the same
bytes when no digest is declared.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

import httpx
from pydantic import SecretStr

DEFAULT_ENDPOINT = "https://huggingface.co"
"""Where Hugging Face repositories live unless the platform names a mirror."""

DEFAULT_RETRIES = 8
"""Consecutive failures without progress before a download gives up, about four minutes."""


@dataclass(frozen=True, slots=True)
class UrlSource:
    """A file behind an http or https URL."""

    url: str

    def describe(self) -> str:
        """Name the source without the URL's query."""
        return str(httpx.URL(self.url).copy_with(query=None, fragment=None))

    @property
    def identity(self) -> str:
        """The whole URL but its query, which changes with every signature."""
        return self.describe()


@dataclass(frozen=True, slots=True)
class HuggingFaceSource:
    """A file of a repository on a hub that speaks Hugging Face's protocol."""

    repo: str
    file: str
    revision: str
    endpoint: str = DEFAULT_ENDPOINT

    @property
    def url(self) -> str:
        """The hub's address of the file, which usually redirects to its storage."""
        revision, file = quote(self.revision, safe=""), quote(self.file, safe="/")
        return f"{self.endpoint.rstrip('/')}/{self.repo}/resolve/{revision}/{file}"

    def describe(self) -> str:
        """Name repository, file, revision and hub."""
        hub = httpx.URL(self.endpoint).host
        return f"{self.file} of {self.repo} at {self.revision} on {hub}"

    @property
    def identity(self) -> str:
        """The file wherever it is mirrored."""
        return f"huggingface:{self.repo}/{self.file}@{self.revision}"


@dataclass(frozen=True, slots=True)
class PathSource:
    """A file on a mounted volume."""

    path: Path

    def describe(self) -> str:
        """Name the path."""
        return str(self.path)

    @property
    def identity(self) -> str:
        """The path."""
        return f"path:{self.path}"


Source: TypeAlias = UrlSource | HuggingFaceSource | PathSource


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """One file to fetch and the rules to keep."""

    output: Path
    """Where the verified file appears, at once and whole."""
    source: Source
    sha256: str | None = None
    """Expected digest, lower-case hexadecimal; None trusts the source on first use."""
    is_digest_recorded: bool = False
    """Whether that digest was recorded on first use, rather than declared by a person."""
    size_bytes: int | None = None
    """Declared length in bytes."""
    allow_private_sources: bool = False
    """Whether the network addresses of the platform itself may be contacted."""
    ca_file: Path | None = None
    """Certificates trusted in addition to the system's, in PEM form."""
    token: SecretStr | None = None
    """Credential for the configured hub."""
    retries: int = DEFAULT_RETRIES
    report_file: Path | None = None
    """Where a success is reported as JSON, such as the container's termination log."""
    waits: bool = False
    """Whether somebody else fetches, so that the file is only waited for."""
    progress_address: tuple[str, int] | None = None
    """Address and port where the operator may ask how far the fetch is."""
