"""Read everything that one decision about a model needs; write nothing.

All of it is watched but the pods of the platform's Jobs: they are few, live for the time of a fetch, and
are asked for while their Job is there. A model may have thousands of users, and each of them that changes
asks for this look, so none is made at all of them but for a model that is to go.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from privatellm import labels
from privatellm.api.llm_model import LLMModel
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import label_value
from privatellm_operator.fetches import FetchProgress, ProgressBoard, ask_all, is_fetching
from privatellm_operator.reconcile.instance.causes import cause_of
from privatellm_operator.reconcile.model.facts import FetchJob, ModelWorld
from privatellm_operator.reconcile.model.reports import Report, parse_report
from privatellm_operator.render.cache import VOLUME, mode_of
from privatellm_operator.render.fetcher import FETCHER, PROGRESS_PORT
from privatellm_operator.render.source import weights_of
from privatellm_operator.settings import CacheMode, Settings
from privatellm_operator.world.cache import World
from privatellm_operator.world.watched import controller_of, held_up_by, in_namespace, run_with

JOB_NAME = "batch.kubernetes.io/job-name"
"""The label by which a Job's controller marks its pods."""


class ModelGatherer:
    """Reads the world around one model."""

    def __init__(
        self, client: KubeClient, world: World, settings: Settings, board: ProgressBoard
    ) -> None:
        self._client = client
        self._world = world
        self._settings = settings
        self._board = board

    async def gather(self, model: LLMModel, now: datetime) -> ModelWorld:
        """Return the world around a model.

        Raises:
            KubernetesError: when the API server does not answer.
        """
        instances, name = self._world[kinds.LLM_INSTANCE], model.metadata.name
        running = instances.each(run_with(name))
        named = instances.find(name) if model.metadata.is_deleting else ()
        return ModelWorld(
            model=model,
            is_used=instances.has(name),
            users=tuple(sorted(_path(user) for user in named)),
            is_run=any(_is_allowed(user, model) for user in running),
            waiting=self._waiting(model),
            jobs=tuple([await self._job(job, now) for job in self._jobs(model)]),
            now=now,
            is_shared=bool(self._settings.watch.namespaces),
        )

    def _waiting(self, model: LLMModel) -> dict[str, datetime]:
        if mode_of(model, self._settings.cache) is not CacheMode.HOST_PATH:
            return {}
        waiting: dict[str, datetime] = {}
        weights = weights_of(model)
        for pod in self._world[kinds.POD].find(held_up_by(weights)):
            since = waits_since(pod, weights)
            if since is not None and self._is_for(model, pod):
                node = pod["spec"]["nodeName"]
                waiting[node] = max(since, waiting.get(node, since))
        return waiting

    def _is_for(self, model: LLMModel, pod: Manifest) -> bool:
        """Say whether the instance that a pod names uses the model; anybody may mount what they like."""
        metadata = pod["metadata"]
        label = (metadata.get("labels") or {}).get(labels.LLM_INSTANCE, "")
        named = self._world[kinds.LLM_INSTANCE].find(in_namespace(metadata["namespace"], label))
        return any((user.get("spec") or {}).get("model") == model.metadata.name for user in named)

    def _jobs(self, model: LLMModel) -> Iterator[Manifest]:
        """Yield the Jobs for exactly this model; one that goes already has had its say."""
        for job in self._world[kinds.JOB].find(label_value(model.metadata.name)):
            owner = controller_of(job)
            is_ours = owner is not None and owner["uid"] == model.metadata.uid
            if is_ours and not job["metadata"].get("deletionTimestamp"):
                yield job

    async def _job(self, job: Manifest, now: datetime) -> FetchJob:
        metadata, status = job["metadata"], job.get("status") or {}
        selector = f"{JOB_NAME}={metadata['name']}"
        listing = await self._client.list(kinds.POD, metadata["namespace"], labels=selector)
        succeeded = _moment(status, "Complete")
        return FetchJob(
            name=metadata["name"],
            uid=metadata["uid"],
            node=(metadata.get("annotations") or {}).get(labels.NODE, ""),
            weights=metadata["labels"].get(labels.WEIGHTS, ""),
            succeeded_at=succeeded,
            failed_at=_moment(status, "Failed"),
            report=next(_reports(listing.items), None) if succeeded else None,
            cause=None if succeeded else cause_of(listing.items),
            progress=None if succeeded else await self._progress(listing.items, now),
        )

    async def _progress(self, pods: Iterable[Manifest], now: datetime) -> FetchProgress | None:
        running = [pod for pod in pods if is_fetching(pod, FETCHER, "containerStatuses")]
        for uid, progress in (await ask_all(running, PROGRESS_PORT)).items():
            self._board.note(uid, progress, now)
        shown = (self._board.get(pod["metadata"]["uid"]) for pod in running)
        return next((progress for progress in shown if progress is not None), None)


def waits_since(pod: Manifest, weights: str) -> datetime | None:
    """Return since when a pod waits for weights in its node's cache; ``None`` when it does not.

    Args:
        pod: A pod of an instance.
        weights: What the weights are called.
    """
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return None
    if status.get("phase") in {"Succeeded", "Failed"} or not _mounts(spec, weights):
        return None
    state = _fetcher_state(status)
    if (state.get("terminated") or {}).get("exitCode") == 0:
        return None
    # While the directory is missing, the node does not even start the container.
    return _time((state.get("running") or {}).get("startedAt")) or _moment(status, "PodScheduled")


def _fetcher_state(status: Manifest) -> Manifest:
    for container in status.get("initContainerStatuses") or ():
        if container["name"] == FETCHER:
            return container.get("state") or {}
    return {}


def _mounts(spec: Manifest, weights: str) -> bool:
    paths = (
        (volume.get("hostPath") or {}).get("path", "")
        for volume in spec.get("volumes") or ()
        if volume["name"] == VOLUME
    )
    return any(path.rsplit("/", 1)[-1] == weights for path in paths)


def _reports(pods: Iterable[Manifest]) -> Iterator[Report]:
    """Yield what fetchers that ended well reported in their termination message."""
    for pod in pods:
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            ended = (status.get("state") or {}).get("terminated") or {}
            if status["name"] == FETCHER and ended.get("exitCode") == 0:
                yield from parse_report(str(ended.get("message", "")))


def _moment(status: Manifest, condition_type: str) -> datetime | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == condition_type and condition["status"] == "True":
            return _time(condition.get("lastTransitionTime"))
    return None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _path(instance: Manifest) -> str:
    metadata = instance["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def _is_allowed(instance: Manifest, model: LLMModel) -> bool:
    allowed = model.spec.allowed_namespaces
    return not allowed or instance["metadata"]["namespace"] in allowed
