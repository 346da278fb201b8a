"""Where the API server is and how we prove who we are.

Loading is left to ``kubernetes.aio`` (kubeconfig with every kind of user, or the in-cluster files).
Service-account tokens are short-lived files, so the ``Authorization`` header is built afresh from
them at most once a minute. An explicit path wins over ``KUBECONFIG``, which wins over the in-cluster
files: a pod of the embedded environment has no in-cluster files and is given a kubeconfig instead.
``KUBECONFIG`` may name several files; they are merged as kubectl merges them.
"""

import os
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from kubernetes.aio import config
from kubernetes.aio.client import Configuration

from privatellm.errors import InvalidInputError

TOKEN_REFRESH_SECONDS = 60.0
"""How long a token that came from a file is used before the file is read again."""


@dataclass(slots=True)
class Credentials:
    """A base URL, a TLS context and a header that stays fresh.

    Attributes:
        kubeconfig: The file they came from; ``None`` for the in-cluster files.
        configuration: What the library made of it.
        context: The chosen context; ``None`` for the file's current one.
        merged_with: Further files that ``KUBECONFIG`` names.
        namespace: The namespace that the context names; empty when it names none.
    """

    kubeconfig: Path | None
    configuration: Configuration
    context: str | None = None
    merged_with: tuple[Path, ...] = ()
    namespace: str = ""
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
            files = (self.kubeconfig, *self.merged_with)
            self.configuration, self.namespace = await _from_kubeconfig(files, self.context)
        self._loaded_at = time.monotonic()


async def load_credentials(
    kubeconfig: Path | None = None, context: str | None = None
) -> Credentials:
    """Find the API server and our credentials.

    Args:
        kubeconfig: A kubeconfig file; ``None`` looks at ``KUBECONFIG``, then at the in-cluster files.
        context: A context of the kubeconfig; ``None`` takes its current one.

    Raises:
        InvalidInputError: when no usable configuration is found.
    """
    files = (kubeconfig,) if kubeconfig else _kubeconfigs_of_environment()
    if files:
        configuration, namespace = await _from_kubeconfig(files, context)
        return Credentials(files[0], configuration, context, files[1:], namespace)
    configuration = Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)
    except config.ConfigException as error:
        raise InvalidInputError(
            f"No way to reach a cluster: KUBECONFIG is not set and this is not a pod ({error}). "
            "Set KUBECONFIG to a kubeconfig file."
        ) from error
    return Credentials(None, configuration)


def _kubeconfigs_of_environment() -> tuple[Path, ...]:
    words = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    return tuple(Path(word) for word in words if word)


async def _from_kubeconfig(
    files: tuple[Path, ...], context: str | None
) -> tuple[Configuration, str]:
    """Return the library's configuration, and the namespace of the context."""
    joined = os.pathsep.join(map(str, files))
    configuration = Configuration()
    try:
        loader = await config.load_kube_config(
            config_file=joined,
            context=context,
            client_configuration=configuration,
            persist_config=False,
        )
        chosen = loader.current_context.get("context") or {}
        return configuration, str(chosen.get("namespace") or "")
    except (config.ConfigException, OSError, yaml.YAMLError) as error:
        if context and "/contexts list" in str(error):
            raise InvalidInputError(_without_context(joined, context)) from error
        raise InvalidInputError(f"The kubeconfig {joined} cannot be used: {error}") from error
    except (TypeError, AttributeError, LookupError, ValueError) as error:
        # The library takes whatever YAML it is given for a kubeconfig and stumbles over the rest.
        raise InvalidInputError(
            f"The kubeconfig {joined} cannot be used: it is no kubeconfig, or its parts are not of the "
            f"types that one has ({error}). Check which file is named."
        ) from error


def _without_context(files: str, context: str) -> str:
    """Return what is said of a context that no kubeconfig has, with those there are."""
    known, _ = config.list_kube_config_contexts(files)
    names = ", ".join(str(entry["name"]) for entry in known) or "none"
    return f"There is no context {context} in the kubeconfig {files}; found: {names}."
