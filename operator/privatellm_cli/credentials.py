"""Find the key of an instance: the Secret of a token request for it.

Reading is done here, choosing is pure. Nothing is made: a customer who has no key asks for one with an
APITokenRequest, and the message says so.
"""

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from privatellm.errors import NotFoundError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm_cli.cluster import Cluster, Name

EXPORTED = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
"""The Secret's keys that the OpenAI SDKs read from the environment."""


@dataclass(frozen=True, slots=True)
class Exports:
    """What a shell is told.

    Attributes:
        variables: What tools read from the environment.
        note: Why the variables of the OpenAI SDKs are not among them; empty when they are.
    """

    variables: Mapping[str, str] = field(repr=False)
    note: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """One ``export`` line a variable, quoted for a shell."""
        return export_lines(self.variables)


async def of_instance(cluster: Cluster, instance: Name) -> dict[str, str]:
    """Return URL and key of an instance as environment variables.

    Raises:
        NotFoundError: when there is no such instance, or no key for it yet, with what to do.
    """
    await cluster.require(kinds.LLM_INSTANCE, instance)
    return await read(cluster.client, instance)


async def read(client: KubeClient, instance: Name) -> dict[str, str]:
    """Return URL and key of an instance that exists as environment variables.

    Raises:
        NotFoundError: when there is no key for it yet, with what to do.
    """
    requests = await client.list(kinds.API_TOKEN_REQUEST, instance.namespace)
    secret_name = choose(instance, requests.items)["status"]["secretName"]
    secret = await client.get(kinds.SECRET, secret_name, instance.namespace)
    if secret is None:
        raise NotFoundError(
            f"The Secret {secret_name} of {instance.text} is gone: wait for the operator."
        )
    data = secret.get("data", {})
    return {name: base64.b64decode(data[name]).decode() for name in EXPORTED if name in data}


def export_lines(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return one ``export`` line a variable, quoted for a shell."""
    return tuple(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def choose(instance: Name, requests: tuple[Manifest, ...]) -> Manifest:
    """Return the token request whose Secret is used: the oldest one that is ready.

    Args:
        instance: What it must be for.
        requests: Those of the instance's namespace.

    Raises:
        NotFoundError: when there is none.
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
    return min(
        ready, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"])
    )


def _is_ready(request: Manifest) -> bool:
    status = request.get("status", {})
    return status.get("phase") == "Ready" and bool(status.get("secretName"))


def _is_pending(request: Manifest) -> bool:
    return bool(request.get("status", {}).get("phase", "Pending") == "Pending")
