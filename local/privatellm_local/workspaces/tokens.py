"""The tokens by which kcp and the API server behind it know their callers: random, made once, kept."""

import secrets
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from privatellm_local import files
from privatellm_local.paths import StatePaths

_BYTES = 32


def _new() -> str:
    return secrets.token_urlsafe(_BYTES)


class KcpTokens(BaseModel):
    """One token for each caller."""

    model_config = ConfigDict(frozen=True)

    store: str = Field(default_factory=_new, min_length=_BYTES)
    """The double's own, at the API server behind it."""

    admin: str = Field(default_factory=_new, min_length=_BYTES)
    agent: str = Field(default_factory=_new, min_length=_BYTES)
    customer: str = Field(default_factory=_new, min_length=_BYTES)


def ensure(paths: StatePaths) -> KcpTokens:
    """Return the environment's tokens; new ones when there are none or the file is damaged.

    Raises:
        StateError: when the file cannot be read or written.
    """
    text = files.read_text(_file(paths))
    try:
        found = KcpTokens.model_validate_json(text) if text else KcpTokens()
    except ValidationError:
        found = KcpTokens()
    files.write_if_changed(_file(paths), found.model_dump_json(indent=2) + "\n")
    return found


def _file(paths: StatePaths) -> Path:
    return paths.pki / "kcp-tokens.json"
