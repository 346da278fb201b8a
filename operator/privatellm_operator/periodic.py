"""What is done now and then: lists against missed events, and looks at what is not watched."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from privatellm.errors import PrivateLLMError
from privatellm.kube import kinds
from privatellm_operator.context import ProcessContext
from privatellm_operator.fetches import ask_all, is_fetching
from privatellm_operator.handlers.arrivals import Arrivals
from privatellm_operator.handlers.namespaced import NamespacedWatches
from privatellm_operator.queue import Key
from privatellm_operator.reconcile.platform.catalogue import Catalogue
from privatellm_operator.render.fetcher import FETCHER, PROGRESS_PORT
from privatellm_operator.world.routing import keys_of, platform_key
from privatellm_operator.world.sync import refresh

log = structlog.get_logger(__name__)


async def every(
    seconds: float, job: Callable[[], Awaitable[None]], *, at_once: bool = False
) -> None:
    """Do a job again and again; one that fails is tried again at its next turn.

    Args:
        seconds: The pause between the end of a turn and the next one.
        job: What is to be done.
        at_once: Whether the first turn is now, and not after a pause.
    """
    if not at_once:
        await asyncio.sleep(seconds)
    while True:
        try:
            await job()
        except PrivateLLMError as error:
            log.warning("periodic job failed", error=str(error))
        except Exception:
            # A job that ends would end the process and its lead with it. What one answer or one object
            # breaks, the next leader would meet as well; so the mistake is told and the others go on.
            log.exception("periodic job broke")
        await asyncio.sleep(seconds)


async def relist(context: ProcessContext, arrivals: Arrivals, watches: NamespacedWatches) -> None:
    """List everything once more and ask for the passes that missed events would have asked for."""
    namespaces = context.settings.tenant_namespaces
    for kind, manifest in await refresh(context.client, context.world, namespaces):
        arrivals.enqueue(kind, manifest)
    watches.keep(kinds.SECRET, secret_namespaces(context))


def secret_namespaces(context: ProcessContext) -> frozenset[str]:
    """Return the namespaces whose Secrets matter: where a parent lives, and where verifiers are."""
    parents = (kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST)
    found = {m["metadata"]["namespace"] for kind in parents for m in context.world[kind].all()}
    return frozenset(found | {context.settings.tokens.token_namespace})


async def ask_fetches(context: ProcessContext) -> None:
    """Ask the fetchers of instances how far they are, and for passes over those with news."""
    pods = context.world[kinds.POD].all()
    running = [pod for pod in pods if is_fetching(pod, FETCHER, "initContainerStatuses")]
    if not running:
        return
    answers, now = await ask_all(running, PROGRESS_PORT), context.clock()
    for pod in running:
        uid = pod["metadata"]["uid"]
        if uid in answers and context.progress.note(uid, answers[uid], now):
            shared = platform_key(context.settings.pod.namespace)
            for key in keys_of(kinds.POD, pod, context.world, shared):
                context.queue.add(key)


def enqueue_catalogue(context: ProcessContext, catalogue: Catalogue) -> None:
    """Ask for a pass over every model that there is a file for."""
    for name in sorted(catalogue.read().names):
        context.queue.add(Key(kinds.LLM_MODEL, "", name))
