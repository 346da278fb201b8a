"""What the supervisor shall run: ``config/components.json``."""

from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from privatellm_local import files
from privatellm_local.errors import StateError


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )


class Probe(_Model):
    """An HTTP request that succeeds when a component can do its work."""

    url: str
    """``http`` or ``https``, with an IP address for a host."""

    ca_file: Path | None = None
    """Whom the server's certificate must come from; needed for ``https``."""

    cert_file: Path | None = None
    """Our certificate, for servers that ask for one."""

    key_file: Path | None = None


class ComponentSpec(_Model):
    """One process that shall always run."""

    name: str
    argv: tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    """Added to what every component gets from the supervisor's own environment."""

    after: tuple[str, ...] = ()
    """Components that must have been ready once before this one is started."""

    probe: Probe
    address: str
    """Where it listens, for people."""

    stop_grace_seconds: float = 10.0
    """How long it may take to end after SIGTERM; SIGKILL follows."""

    fingerprint: str = ""
    """Digest of the files it reads at start only; a change restarts it."""


class Components(_Model):
    """Everything the supervisor shall run; a component comes later than those it is started after."""

    components: tuple[ComponentSpec, ...]


def digest(text: str) -> str:
    """Return a short digest by which two contents can be told apart."""
    return sha256(text.encode()).hexdigest()[:16]


def write(path: Path, components: tuple[ComponentSpec, ...]) -> str:
    """Write the file and return the digest by which the supervisor reports that it has read it.

    Raises:
        StateError: when it cannot be written.
    """
    text = Components(components=components).model_dump_json(by_alias=True, indent=2) + "\n"
    files.write_if_changed(path, text)
    return digest(text)


def read(path: Path) -> tuple[tuple[ComponentSpec, ...], str]:
    """Return what shall run, and the digest of the file that says so.

    Raises:
        StateError: when there is no such file or it makes no sense.
    """
    text = files.read_text(path)
    if text is None:
        raise StateError(f"{path} is missing: run `privatellm up` again.")
    try:
        return Components.model_validate_json(text).components, digest(text)
    except ValidationError as error:
        raise StateError(f"{path} is damaged: run `privatellm up` again ({error}).") from error
