"""Where the API server is and how we prove who we are.

Loading is left to ``kubernetes.aio`` (kubeconfig with every kind of user, or the in-cluster files).
Service-account tokens are short-lived files, so the ``Authorization`` header is built afresh from
them at most once a minute. An explicit path wins over ``KUBECONFIG``, which wins over the in-cluster
files: a pod of the embedded environment has no in-cluster files and is given a kubeconfig instead.
"""

import os
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path

from kubernetes.aio import config
from kubernetes.aio.client import Configuration

from privatellm.errors import InvalidInputError

TOKEN_REFRESH_SECONDS = 60.0
"""How long a token that came from a file is used before the file is read again."""


@dataclass(slots=True)
class Credentials:
    """A base URL, a TLS context and a header that stays fresh."""

    kubeconfig: Path | None
    configuration: Configuration
    _loaded_at: float = field(default_factory=time.monotonic)

    @property
    def server(self) -> str:
        """The API server's base URL without a trailing slash."""
        return str(self.configuration.host).rstrip("/")

    def tls(self) -> ssl.SSLContext:
        """Return a TLS context that trusts the cluster's CA and presents our certificate, if any.

        Raises:
            InvalidInputError: when a certificate or key cannot be read or used.
        """
        try:
            return self._tls()
        except OSError as error:  # ssl.SSLError is one of these too.
            raise InvalidInputError(
                f"The certificates for {self.server} cannot be used: {error}. "
                "Check the files that the kubeconfig names."
            ) from error

    def _tls(self) -> ssl.SSLContext:
        chosen = self.configuration
        context = ssl.create_default_context(cafile=chosen.ssl_ca_cert, cadata=chosen.ca_cert_data)
        if chosen.cert_file:
            context.load_cert_chain(chosen.cert_file, keyfile=chosen.key_file)
        if not chosen.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    async def headers(self) -> dict[str, str]:
        """Return the ``Authorization`` header; empty when a client certificate is all we have."""
        if self.kubeconfig and time.monotonic() - self._loaded_at > TOKEN_REFRESH_SECONDS:
            await self.refresh()
        token = await self.configuration.get_api_key_with_prefix(
            "BearerToken", alias="authorization"
        )
        return {"Authorization": token} if token else {}

    async def refresh(self) -> None:
        """Read the credentials again, because they are old or were refused."""
        if self.kubeconfig:
            self.configuration = await _from_kubeconfig(self.kubeconfig)
        self._loaded_at = time.monotonic()


async def load_credentials(kubeconfig: Path | None = None) -> Credentials:
    """Find the API server and our credentials.

    Args:
        kubeconfig: A kubeconfig file; ``None`` looks at ``KUBECONFIG``, then at the in-cluster files.

    Raises:
        InvalidInputError: when no usable configuration is found.
    """
    path = kubeconfig or _kubeconfig_of_environment()
    if path is not None:
        return Credentials(path, await _from_kubeconfig(path))
    configuration = Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)
    except config.ConfigException as error:
        raise InvalidInputError(
            f"No way to reach a cluster: KUBECONFIG is not set and this is not a pod ({error}). "
            "Set KUBECONFIG to a kubeconfig file."
        ) from error
    return Credentials(None, configuration)


def _kubeconfig_of_environment() -> Path | None:
    value = os.environ.get("KUBECONFIG", "")
    first = next((part for part in value.split(os.pathsep) if part), "")
    return Path(first) if first else None


async def _from_kubeconfig(path: Path) -> Configuration:
    configuration = Configuration()
    try:
        await config.load_kube_config(
            config_file=str(path), client_configuration=configuration, persist_config=False
        )
    except (config.ConfigException, OSError) as error:
        raise InvalidInputError(f"The kubeconfig {path} cannot be used: {error}") from error
    return configuration
