"""What a model says about itself, and what is recorded of it: pure."""

from collections.abc import Iterator
from dataclasses import replace

from privatellm import conditions
from privatellm.api.llm_model import LLMModelStatus, ModelCondition
from privatellm.conditions import Condition, ConditionStatus
from privatellm_operator.reconcile.model.decide import needs_record
from privatellm_operator.reconcile.model.facts import FetchJob, ModelWorld
from privatellm_operator.reconcile.model.reasons import Reason
from privatellm_operator.reconcile.model.reports import Report
from privatellm_operator.render.cache import mode_of
from privatellm_operator.render.source import (
    is_recordable,
    recorded_digest,
    source_digest,
    weights_of,
)
from privatellm_operator.settings import CacheMode, CacheSettings

NAMED_USERS = 10
"""Users that a message names; a message is for people, and a model may have a thousand."""


def status_of(world: ModelWorld, cache: CacheSettings) -> LLMModelStatus:
    """Return the whole status of a model.

    Args:
        world: What is there.
        cache: Where weights are kept.
    """
    recorded = _recorded(world)
    seen = replace(world, model=world.model.model_copy(update={"status": recorded}))
    metadata = world.model.metadata
    merged = conditions.merged(
        world.model.status.conditions,
        _conditions(seen, cache),
        generation=metadata.generation,
        now=world.now,
    )
    return recorded.model_copy(update={"conditions": merged})


def _recorded(world: ModelWorld) -> LLMModelStatus:
    """Return the status with the first report on the present source; a later one changes nothing."""
    model, report = world.model, _first_report(world)
    if recorded_digest(model) is not None:
        return model.status
    if needs_record(model) and report is not None:
        return LLMModelStatus(
            sha256=report.sha256, size_bytes=report.size_bytes, recorded_for=source_digest(model)
        )
    return LLMModelStatus()


def _first_report(world: ModelWorld) -> Report | None:
    ended = [job for job in _current(world) if job.report is not None and job.succeeded_at]
    first = min(ended, key=lambda job: (str(job.succeeded_at), job.name), default=None)
    return first.report if first else None


def _current(world: ModelWorld) -> tuple[FetchJob, ...]:
    weights = weights_of(world.model)
    return tuple(job for job in world.jobs if job.weights == weights)


def _conditions(world: ModelWorld, cache: CacheSettings) -> Iterator[Condition]:
    yield _digest_known(world)
    if mode_of(world.model, cache) is CacheMode.HOST_PATH and _current(world):
        yield _fetchable(world)
    if world.model.metadata.is_deleting and world.is_used:
        yield _in_use(world)


def _digest_known(world: ModelWorld) -> Condition:
    kind, model = ModelCondition.DIGEST_KNOWN, world.model
    if model.spec.sha256 is not None:
        return _true(kind, Reason.DECLARED, "The catalogue declares the digest.")
    if not is_recordable(model):
        return _false(
            kind,
            Reason.NOT_RECORDABLE,
            "The weights lie on claims in tenants' namespaces, so no digest is recorded. Declare "
            "spec.sha256 to have every fetch checked.",
        )
    recorded = recorded_digest(model)
    if recorded is not None:
        return _other_bytes(world, recorded) or _true(
            kind,
            Reason.RECORDED,
            "The digest was recorded on first use, and every later fetch is held to it. Declare it as "
            "spec.sha256 once it agrees with the publisher's.",
        )
    return _not_recorded_yet(world)


def _other_bytes(world: ModelWorld, recorded: str) -> Condition | None:
    """A later fetch gave, or was refused for, other bytes."""
    for job in _current(world):
        if job.cause is not None and job.cause.reason == Reason.CHECKSUM_MISMATCH:
            return _false(ModelCondition.DIGEST_KNOWN, job.cause.reason, job.cause.message)
        if job.report is not None and job.report.sha256 != recorded:
            return _false(
                ModelCondition.DIGEST_KNOWN,
                Reason.CHECKSUM_MISMATCH,
                f"A fetch gave SHA-256 {job.report.sha256}, but {recorded} was recorded on first use. "
                "Compare with the publisher's digest and declare the right one as spec.sha256.",
            )
    return None


def _not_recorded_yet(world: ModelWorld) -> Condition:
    kind, jobs = ModelCondition.DIGEST_KNOWN, _current(world)
    cause = next((job.cause for job in jobs if job.cause is not None), None)
    if cause is not None:
        return _false(kind, cause.reason, cause.message)
    if jobs or world.is_run:
        message = "No digest is declared; the platform fetches the model to take it."
        return _false(kind, Reason.RECORDING, message)
    message = "No digest is declared; it is recorded when the model is used for the first time."
    return _false(kind, Reason.NOT_USED, message)


def _fetchable(world: ModelWorld) -> Condition:
    kind, jobs = ModelCondition.FETCHABLE, _current(world)
    for job in jobs:
        if job.succeeded_at is None and job.cause is not None:
            return _false(kind, job.cause.reason, job.cause.message)
        if job.failed_at is not None:
            message = f"The Job {job.name} failed without a word; the platform team can look at it."
            return _false(kind, Reason.FETCH_FAILED, message)
    running = next((job for job in jobs if job.is_active), None)
    if running is None:
        return _true(kind, Reason.FETCHED, "The weights are in the nodes' cache.")
    if running.progress is not None and running.progress.trouble:
        message = f"The source fails, and the platform tries again. {running.progress.trouble}"
        return _false(kind, Reason.SOURCE_FAILING, message)
    progress = f": {running.progress.text}" if running.progress else ""
    message = f"The platform fetches the model into the cache of {running.node}{progress}."
    return _false(kind, Reason.FETCHING, message)


def _in_use(world: ModelWorld) -> Condition:
    return _false(
        ModelCondition.REMOVABLE,
        Reason.IN_USE,
        f"Used by {_users(world)}. The model goes when they are deleted or use another one.",
    )


def _users(world: ModelWorld) -> str:
    """Name the users; where each operator knows only some of them, all must say the same."""
    if world.is_shared:
        return "instances"
    more = len(world.users) - NAMED_USERS
    return ", ".join(world.users[:NAMED_USERS]) + (f" and {more} more" if more > 0 else "")


def _true(kind: ModelCondition, reason: str, message: str) -> Condition:
    return Condition(type=kind, status=ConditionStatus.TRUE, reason=reason, message=message)


def _false(kind: ModelCondition, reason: str, message: str) -> Condition:
    return Condition(type=kind, status=ConditionStatus.FALSE, reason=reason, message=message)
