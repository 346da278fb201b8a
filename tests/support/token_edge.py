"""What the edge decides about keys, over a token namespace as it is stored.

The ForwardAuth service's own index and decision, filled by one list as its feed does at start. Only the way
there is left out (Traefik, the watch), which other tests go.
"""

from datetime import UTC, datetime

from auth_world import CHAT, UPTIME, World, question
from privatellm.kube import KubeClient, kinds
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import verify
from privatellm_authserver.index import Allowed


class Edge:
    """Everything that is stored, and the decision over it."""

    def __init__(self, world: World) -> None:
        self._world = world

    @classmethod
    async def of(cls, client: KubeClient, token_namespace: str) -> "Edge":
        """Return the edge that has read a token namespace now."""
        world = World()
        snapshot = world.index.new_snapshot()
        for secret in (await client.list(kinds.SECRET, token_namespace)).items:
            snapshot.add(secret)
        world.index.swap(snapshot, UPTIME)
        return cls(world)

    def lets_in(self, key: str, slug: str) -> bool:
        """Say whether a request with this key to the instance of this slug passes."""
        # Whatever a Secret holds can be sent: as bytes, which headers are.
        sent = f"Bearer {key}".encode().decode("latin-1")
        facts = self._world.reader.read(question(sent, f"/llm/{slug}{CHAT}"))
        now = Moment(datetime.now(UTC).timestamp(), UPTIME)
        return isinstance(verify(facts, self._world.index, now), Allowed)
