"""Which Jobs of the platform a model needs, and which have had their time: pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from privatellm.api.llm_model import LLMModel
from privatellm.kube import Manifest
from privatellm_operator.reconcile.model.facts import FetchJob, ModelWorld
from privatellm_operator.render import fetch_job
from privatellm_operator.render.cache import mode_of
from privatellm_operator.render.source import is_recordable, recorded_digest, weights_of
from privatellm_operator.settings import CacheMode, Settings

POLL_SECONDS = 5.0
"""When to look again at a Job that runs: what its pods say brings no event of the Job."""

GRACE_SECONDS = 2.0
"""How long a pod may wait before somebody fetches for it; where the weights are in place it never does."""

RETRY_SECONDS = 300.0
"""When a fetch that failed is tried anew, for as long as somebody waits for it."""


@dataclass(frozen=True, slots=True)
class JobsPlan:
    """What to do about the platform's Jobs.

    Attributes:
        create: Jobs to create.
        delete: Jobs to delete, as name and UID.
        look_again_after: Seconds until a look is due that no event asks for; ``None`` for never.
    """

    create: tuple[Manifest, ...] = ()
    delete: tuple[tuple[str, str], ...] = ()
    look_again_after: float | None = None


def decide(world: ModelWorld, settings: Settings) -> JobsPlan:
    """Return what a pass has to do about the Jobs.

    Args:
        world: What was gathered; the model's status already holds what this pass records.
        settings: What the platform team decided.
    """
    wanted = _places(world, settings)
    kept = [job for job in world.jobs if _is_kept(job, world, wanted)]
    missing = sorted(wanted - {job.node for job in kept} - _still_there(world, kept))
    return JobsPlan(
        create=tuple(fetch_job.build(world.model, settings, node) for node in missing),
        delete=tuple((job.name, job.uid) for job in world.jobs if job not in kept),
        look_again_after=_pause(world, busy=bool(kept or missing)),
    )


def needs_record(model: LLMModel) -> bool:
    """Say whether the model's digest has to be recorded on its first use."""
    return model.spec.sha256 is None and is_recordable(model) and recorded_digest(model) is None


def _places(world: ModelWorld, settings: Settings) -> frozenset[str]:
    """Return the nodes whose caches have to be filled; the empty name stands for a look at the bytes."""
    if mode_of(world.model, settings.cache) is CacheMode.HOST_PATH:
        return frozenset(node for node, since in world.waiting.items() if _is_due(world, since))
    return frozenset({""} if world.is_run and needs_record(world.model) else ())


def _is_due(world: ModelWorld, since: datetime) -> bool:
    return world.now - since >= timedelta(seconds=GRACE_SECONDS)


def _pause(world: ModelWorld, *, busy: bool) -> float | None:
    if any(not _is_due(world, since) for since in world.waiting.values()):
        return GRACE_SECONDS
    return POLL_SECONDS if busy else None


def _still_there(world: ModelWorld, kept: list[FetchJob]) -> set[str]:
    """Return the places of Jobs that go but hold their name until they are gone."""
    weights = weights_of(world.model)
    return {job.node for job in world.jobs if job not in kept and job.weights == weights}


def _is_kept(job: FetchJob, world: ModelWorld, wanted: frozenset[str]) -> bool:
    if job.weights != weights_of(world.model):
        return False
    if job.is_active:
        # What it fetches may be wanted again in a moment, and half a file is worth finishing.
        return True
    if job.node not in wanted:
        return False
    if job.failed_at is not None:
        return world.now - job.failed_at < timedelta(seconds=RETRY_SECONDS)
    return _answers_those_who_wait(job, world)


def _answers_those_who_wait(job: FetchJob, world: ModelWorld) -> bool:
    """A pod that began to wait after the Job's end does not find what the Job brought."""
    since = world.waiting.get(job.node)
    return since is not None and job.succeeded_at is not None and since <= job.succeeded_at
