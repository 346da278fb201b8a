"""Everything a client needs to ask an instance: its URL, a key, and the model's name."""

from dataclasses import dataclass, field

from privatellm.errors import NotFoundError
from privatellm.kube import kinds
from privatellm_cli import credentials
from privatellm_cli.cluster import Cluster, Target, in_cluster


@dataclass(frozen=True, slots=True)
class Access:
    """The way into one instance."""

    base_url: str
    model: str
    key: str = field(repr=False)


def find(target: Target, text: str) -> Access:
    """Return the way into an instance, by the oldest key to it that is ready.

    Raises:
        NotFoundError: when there is no such instance, or no key to it.
    """
    return in_cluster(target, lambda cluster: _find(cluster, text))


async def _find(cluster: Cluster, text: str) -> Access:
    place = cluster.name(text)
    instance = await cluster.require(kinds.LLM_INSTANCE, place)
    variables = await credentials.read(cluster.client, place)
    try:
        base_url, key = (variables[name] for name in credentials.EXPORTED)
    except KeyError as error:
        raise NotFoundError(
            f"The Secret of the key to {place.text} lacks {error}: replace it with `privatellm token "
            "rotate`."
        ) from error
    return Access(base_url, str(instance["spec"]["model"]), key)
