"""What ``python -m privatellm_local.kcp --config FILE`` is told: one JSON file, read once."""

import ssl
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from privatellm_local.errors import EmbeddedError
from privatellm_local.kcp.access import Identity, Role, Tokens


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )


class TokenConfig(_Model):
    """A caller; the file that holds its token is private, so it may stand here."""

    token: str
    name: str
    role: Role = Role.MEMBER
    workspaces: tuple[str, ...] = ()
    content_of: tuple[str, ...] = ()


class KcpConfig(_Model):
    """The double as a process."""

    kubeconfig: Path
    """Of the API server behind it, which it needs for itself."""

    tokens: tuple[TokenConfig, ...]
    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    """What it answers with, together with ``key``. Absent: HTTP, over which kubectl sends no token."""

    key: Path | None = None
    fault_port: int | None = None
    """Absent: there is no fault port."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("certificate and key belong together; got one of them")
        return self

    def tls(self) -> ssl.SSLContext | None:
        """Return the certificate to answer with.

        Raises:
            EmbeddedError: when it cannot be read.
        """
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # TLS failures are OSErrors too.
            raise EmbeddedError(
                f"The certificate {self.certificate} and the key {self.key} must fit together and be "
                f"readable: {error}"
            ) from error
        return context

    def table(self) -> Tokens:
        """Return the token table."""
        return Tokens(
            {
                one.token: Identity(one.name, one.role, one.workspaces, one.content_of)
                for one in self.tokens
            }
        )


def read(path: Path) -> KcpConfig:
    """Read the file.

    Raises:
        EmbeddedError: when it cannot be read or breaks a rule; no token is repeated in the message.
    """
    try:
        return KcpConfig.model_validate_json(path.read_text())
    except OSError as error:
        raise EmbeddedError(f"The configuration {path} cannot be read: {error}") from error
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        )
        raise EmbeddedError(f"The configuration {path} cannot be used: {faults}.") from error
