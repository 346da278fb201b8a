"""Settings of the authserver, from environment variables; each says unit, default and consequence."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, field_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from privatellm.errors import InvalidInputError
from privatellm.telemetry.logs import LogFormat, LogLevel
from privatellm_authserver.headers import hosts_of

Port = Annotated[int, Field(ge=1, le=65535)]


class Settings(BaseSettings):
    """Everything that can be set; an unknown or wrong value stops the start with a sentence."""

    model_config = SettingsConfigDict(
        frozen=True, env_prefix="PRIVATE_LLM_", extra="ignore", populate_by_name=True
    )

    public_host: str = Field(validation_alias="PUBLIC_HOST")
    """``host`` or ``host:port`` that customers use; requests for any other host are refused."""

    token_namespace: str = "private-llm-tokens"  # noqa: S105 - the name of a namespace
    """Namespace of the verifiers; the only one that is read."""

    platform_key_file: Path
    """File with the platform key, from which the backend keys derive; the operator has the same."""

    bind_host: str = "0.0.0.0"  # noqa: S104 - a pod is reached by its own address
    """Address that both ports listen on."""

    verify_port: Port = 8090
    """Port for Traefik's questions; it serves nothing else."""

    admin_port: Port = 8091
    """Port for probes, metrics and last use; for the platform only."""

    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Worker processes. Each holds its own index: about 60 MB, and 45 MB more per 100 000 tokens.

    One fills one core and answers several times what a Traefik in front of it asks; more are for pods that
    use their core up.
    """

    max_staleness_seconds: Annotated[float, Field(gt=0)] = 60.0
    """Seconds the last good index is used without word from the API server; then every request gets 503.

    A watch is renewed every 20 s and found broken within 25 s, so less than 30 turns hiccups into outages.
    """

    drain_seconds: Annotated[float, Field(ge=0)] = 3.0
    """Seconds from SIGTERM to the end of accepting, in which Traefik learns that this pod leaves.

    The end takes up to 27 s more, which the pod's ``terminationGracePeriodSeconds`` must leave.
    """

    audit_lines_per_second: Annotated[float, Field(gt=0)] = 10.0
    """Audit lines per second, per worker and outcome; the next line counts what was left out."""

    log_format: LogFormat = LogFormat.JSON
    """``json`` or ``console``."""

    log_level: LogLevel = LogLevel.INFO
    """Lowest level that is written; allowed requests are ``info``, denied ones ``warning``."""

    @field_validator("public_host")
    @classmethod
    def _is_a_host(cls, value: str) -> str:
        hosts_of(value)
        return value

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment.

        Raises:
            InvalidInputError: naming every variable that is missing or wrong.
        """
        try:
            return cls()
        except ValidationError as error:
            complaints = "; ".join(_sentence(detail) for detail in error.errors())
            raise InvalidInputError(f"The settings cannot be used: {complaints}") from error


def _sentence(detail: ErrorDetails) -> str:
    name = str(detail["loc"][0])
    variable = name if name.isupper() else f"PRIVATE_LLM_{name.upper()}"
    return f"{variable}: {detail['msg']}"
