"""Find the key of an instance: the Secret of a token request for it.

Reading is done here, choosing is pure. Nothing is made: a customer who has no key asks for one with an
APITokenRequest, and the message says so.
"""

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privatellm.errors import NotFoundError
from privatellm.kube import KubeClient, kinds

EXPORTED = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
"""The Secret's keys that the OpenAI SDKs read from the environment."""

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class InstanceName:
    """An instance as a person names it; without a namespace it is looked for in all of them."""

    namespace: str | None
    name: str

    @classmethod
    def parse(cls, text: str) -> "InstanceName":
        """Read ``NAME`` or ``NAMESPACE/NAME``."""
        namespace, _, name = text.rpartition("/")
        return cls(namespace or None, name)

    @property
    def text(self) -> str:
        """The name as it is written on the command line."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


async def read(client: KubeClient, instance: InstanceName) -> dict[str, str]:
    """Return URL and key of an instance as environment variables.

    Raises:
        NotFoundError: when there is no key for it yet, with what to do.
    """
    requests = await client.list(kinds.API_TOKEN_REQUEST, instance.namespace)
    chosen = choose(instance, requests.items)
    secret_name = chosen["status"]["secretName"]
    secret = await client.get(kinds.SECRET, secret_name, chosen["metadata"]["namespace"])
    if secret is None:
        raise NotFoundError(
            f"The Secret {secret_name} of {instance.text} is gone: wait for the operator."
        )
    data = secret.get("data", {})
    return {name: base64.b64decode(data[name]).decode() for name in EXPORTED if name in data}


def export_lines(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return one ``export`` line a variable, quoted for a shell."""
    return tuple(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def choose(instance: InstanceName, requests: tuple[Manifest, ...]) -> Manifest:
    """Return the token request whose Secret is used: the oldest one that is ready.

    Raises:
        NotFoundError: when there is none, or the name fits instances in several namespaces.
    """
    fitting = [item for item in requests if item["spec"].get("instanceName") == instance.name]
    ready = [item for item in fitting if _is_ready(item)]
    if not ready:
        is_coming = any(_is_pending(item) for item in fitting)
        raise NotFoundError(
            f"No APITokenRequest for instance {instance.text} is "
            + (
                "Ready yet: wait for it (privatellm token list)."
                if is_coming
                else f"Ready: create one (privatellm token create {instance.text})."
            )
        )
    namespaces = sorted({item["metadata"]["namespace"] for item in ready})
    if len(namespaces) > 1:
        raise NotFoundError(
            f"Instances named {instance.text} are in {', '.join(namespaces)}: say which one as "
            "NAMESPACE/NAME."
        )
    return min(
        ready, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"])
    )


def _is_ready(request: Manifest) -> bool:
    status = request.get("status", {})
    return status.get("phase") == "Ready" and bool(status.get("secretName"))


def _is_pending(request: Manifest) -> bool:
    return bool(request.get("status", {}).get("phase", "Pending") == "Pending")
