"""One operator process of the token passes, as tests drive it: its own picture, its own clock.

A pass here starts with a fresh list of what is watched, so a test decides what the operator has seen and
needs no watch. A new :class:`TokenOperator` is an operator that was restarted.
"""

from datetime import UTC, datetime, timedelta

from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.reconcile.token import TokenReconciler, VerifierSweep
from privatellm_operator.settings import PublicSettings, Settings, TokenSettings
from privatellm_operator.world.cache import World

HOST = "llm.example.com"
WATCHED = (kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST, kinds.SECRET)


class Clock:
    """The system's clock, which a test may put ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        """Return the time that the operator believes it is."""
        return datetime.now(UTC) + self.ahead


class TokenOperator:
    """The token passes with what they need, over a real API server."""

    def __init__(
        self,
        client: KubeClient,
        token_namespace: str,
        *,
        longest_token_life: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or Clock()
        self.client = client
        self.world = World()
        tokens = TokenSettings(
            token_namespace=token_namespace, longest_token_life=longest_token_life
        )
        context = ProcessContext(
            client=client,
            settings=Settings(public=PublicSettings(host=HOST), tokens=tokens),
            platform_key=PlatformKey.of("a platform key of the tests, long enough"),
            world=self.world,
            queue=WorkQueue(),
            clock=self.clock,
        )
        self.reconciler = TokenReconciler(context)
        self.sweeper = VerifierSweep(context)

    async def look(self) -> None:
        """Bring the picture up to date, as watches do."""
        for kind in WATCHED:
            store = self.world[kind]
            store.replace(await self.client.list(kind, labels=store.watching.selector))

    async def reconcile(self, namespace: str, name: str) -> float | None:
        """Look at the cluster and do one pass over a request."""
        await self.look()
        return await self.without_looking(namespace, name)

    async def without_looking(self, namespace: str, name: str) -> float | None:
        """Do one pass over a request with the picture as it is."""
        return await self.reconciler.reconcile(Key(kinds.API_TOKEN_REQUEST, namespace, name))
