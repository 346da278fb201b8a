"""What an instance can say about its weights beyond what its pods' failures tell: pure."""

from collections.abc import Iterator

from privatellm.api.llm_model import LLMModel, ModelCondition
from privatellm.conditions import Condition, find
from privatellm.kube import Manifest
from privatellm_operator.reconcile.instance.causes import Cause, has_weights, is_fetching
from privatellm_operator.reconcile.instance.facts import InstanceWorld
from privatellm_operator.reconcile.instance.wording import sentence
from privatellm_operator.reconcile.model.reasons import Reason as ModelReason
from privatellm_operator.reconcile.model.reports import parse_report
from privatellm_operator.render.fetcher import FETCHER
from privatellm_operator.render.source import model_path, recorded_digest


def weights_cause(world: InstanceWorld) -> Cause | None:
    """Return what is wrong with the weights although no pod of the instance failed."""
    if world.model is None:
        return None
    return _other_bytes(world, world.model) or _platform_failed(world, world.model)


def fetching_text(world: InstanceWorld) -> str:
    """Return how far a fetch is that goes on now, as well as that is known; empty when none does."""
    if is_fetching(world.pods):
        progress = f": {world.progress.text}" if world.progress else ""
        return f"The model is being fetched{progress}."
    platform = _fetchable(world.model)
    if platform is not None and platform.reason == ModelReason.FETCHING:
        return sentence(platform.message)
    return ""


def fetched_text(world: InstanceWorld) -> str:
    """Return what is known of weights that are in place."""
    if world.model is not None and world.model.spec.sha256:
        return "The model is in place and has the promised checksum."
    if world.model is not None and recorded_digest(world.model):
        return "The model is in place and held to the checksum that was recorded on its first use."
    return "The model is in place. The catalogue promises no checksum for it."


def _other_bytes(world: InstanceWorld, model: LLMModel) -> Cause | None:
    """A pod that began before the digest was recorded may serve other bytes than those recorded.

    Its report comes out of the tenant's namespace. It is good enough to warn that tenant, and is used for
    nothing else.
    """
    recorded = recorded_digest(model)
    if recorded is None:
        return None
    for pod in sorted(world.pods, key=lambda pod: str(pod["metadata"]["name"])):
        seen = next(_reported(pod, model), recorded)
        if seen != recorded:
            return Cause(
                ModelReason.CHECKSUM_MISMATCH,
                f"The pod {pod['metadata']['name']} serves a model with SHA-256 {seen}, but {recorded} was "
                "recorded on its first use. Ask the platform team which one is right; they can declare "
                "it in the catalogue.",
                of_model=True,
            )
    return None


def _reported(pod: Manifest, model: LLMModel) -> Iterator[str]:
    """Yield the digest that a pod's fetcher reported, if it fetched the model's present source."""
    fetchers = ((pod.get("spec") or {}).get("initContainers")) or ()
    if not any(model_path(model) in (fetcher.get("args") or ()) for fetcher in fetchers):
        return
    for status in (pod.get("status") or {}).get("initContainerStatuses") or ():
        ended = (status.get("state") or {}).get("terminated") or {}
        if status["name"] == FETCHER and ended.get("exitCode") == 0:
            yield from (report.sha256 for report in parse_report(str(ended.get("message", ""))))


def _platform_failed(world: InstanceWorld, model: LLMModel) -> Cause | None:
    """The platform fetches for the instance, and cannot."""
    platform = _fetchable(model)
    if platform is None or platform.is_true or platform.reason == ModelReason.FETCHING:
        return None
    if world.servers.wanted == 0 or has_weights(world.pods):
        return None
    return Cause(platform.reason, sentence(platform.message), of_model=True)


def _fetchable(model: LLMModel | None) -> Condition | None:
    return find(model.status.conditions, ModelCondition.FETCHABLE) if model else None
