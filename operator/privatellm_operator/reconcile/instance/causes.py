"""Why a model server does not answer, read from pods and put into words.

A cause is something a person has to act upon; a pod that is still on its way has none. Texts avoid what
changes with every restart or back-off, so that a broken instance does not rewrite its status for ever.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json
from privatellm.kube import Manifest
from privatellm_operator.fetcher.errors import FetchReason
from privatellm_operator.reconcile.instance.reasons import Reason
from privatellm_operator.reconcile.instance.wording import sentence
from privatellm_operator.render.fetcher import FETCHER
from privatellm_operator.world.watched import seniority

LONGEST_TAIL = 300
"""Characters of a container's last words that are repeated."""

_PULL_PROBLEMS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "RegistryUnavailable",
    }
)
_STEADY_PULL_PROBLEMS = frozenset({"ErrImageNeverPull", "InvalidImageName"})
"""Their message does not alternate with that of a back-off."""

_VOLUME_WORDS = ("persistentvolumeclaim", "persistent volume")
"""What the scheduler's messages about volumes have in common."""

_SILENT_FETCHER = "The fetcher says no more about it"
_REFUSALS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that keeps a server from answering.

    Attributes:
        reason: For machines: one of ours, or what the fetcher named.
        message: What happened and what to do.
        of_model: Whether it is about the weights and not about the server.
    """

    reason: str
    message: str
    of_model: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod, as the node reports it.

    Attributes:
        name: Its name.
        pod: Name of the pod.
        image: Its image.
        is_done: Whether it answers, or, for an init container, ended well.
        is_running: Whether it is at work.
        waiting: Why it does not run; empty when it does.
        waiting_message: The node's words on that.
        ended: How it ended last, while nothing better is known.
    """

    name: str
    pod: str
    image: str
    is_done: bool
    is_running: bool
    waiting: str
    waiting_message: str
    ended: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Whether its last run ended badly."""
        return bool(self.ended) and self.ended.get("exitCode", 0) != 0

    @property
    def last_words(self) -> str:
        """The last line that it left behind."""
        lines = str(self.ended.get("message", "")).strip().splitlines()
        return lines[-1][:LONGEST_TAIL] if lines else ""


def cause_of(pods: Iterable[Manifest]) -> Cause | None:
    """Return the first cause, by the order of :data:`CHECKS` and then by the pod's name."""
    living = sorted(_current(pods), key=lambda pod: str(pod["metadata"]["name"]))
    causes = (check(pod) for check in CHECKS for pod in living)
    return next((cause for cause in causes if cause), None)


def has_weights(pods: Iterable[Manifest]) -> bool:
    """Say whether the fetcher of any pod that counts has ended well."""
    return any(c.is_done for pod in _current(pods) for c in _containers(pod) if c.name == FETCHER)


def is_fetching(pods: Iterable[Manifest]) -> bool:
    """Say whether the fetcher of any pod that counts is at work."""
    return any(
        c.is_running for pod in _current(pods) for c in _containers(pod) if c.name == FETCHER
    )


def fetch_failed(pod: Manifest) -> Cause | None:
    """The fetcher says in its last line what went wrong."""
    container = _first(pod, lambda c: c.name == FETCHER and c.failed)
    if container is None:
        return None
    if report := _report(container):
        return report
    code, words = container.ended.get("exitCode"), container.last_words
    message = f"The model could not be fetched: exit code {code}" + (f", {words}" if words else "")
    return Cause(Reason.FETCH_FAILED, sentence(message), of_model=True)


def image_missing(pod: Manifest) -> Cause | None:
    """A node cannot get an image."""
    container = _first(pod, lambda c: c.waiting in _PULL_PROBLEMS)
    if container is None:
        return None
    detail = container.waiting_message if container.waiting in _STEADY_PULL_PROBLEMS else ""
    return Cause(
        Reason.IMAGE_PULL_FAILED,
        f"The image {container.image} of the container {container.name} cannot be pulled"
        f"{': ' + detail if detail else ''}. Check its name, the registry and the pull secret; "
        f"`kubectl describe pod {container.pod}` has the registry's answer.",
    )


def out_of_memory(pod: Manifest) -> Cause | None:
    """The kernel killed a container at its memory limit."""
    container = _first(pod, lambda c: c.ended.get("reason") == "OOMKilled")
    if container is None:
        return None
    return Cause(
        Reason.OUT_OF_MEMORY,
        f"The container {container.name} needs more memory than its limit allows. The platform team "
        "can raise the model's resources or lower its context size.",
    )


def container_refused(pod: Manifest) -> Cause | None:
    """The node cannot make a container from its description."""
    container = _first(pod, lambda c: c.waiting in _REFUSALS)
    if container is None:
        return None
    detail = container.waiting_message or container.waiting
    return Cause(
        Reason.CONTAINER_REFUSED,
        sentence(f"The node cannot start the container {container.name}: {detail}"),
    )


def crashed(pod: Manifest) -> Cause | None:
    """A container ends by itself, and will again."""
    container = _first(pod, lambda c: c.failed)
    if container is None:
        return None
    code, words = container.ended.get("exitCode"), container.last_words
    return Cause(
        Reason.CRASH_LOOP,
        sentence(
            f"The container {container.name} ends with exit code {code}; "
            f"`kubectl logs {container.pod} -c {container.name} --previous` shows why"
            + (f". Its last words: {words}" if words else "")
        ),
    )


def volume_not_bound(pod: Manifest) -> Cause | None:
    """A claim that the pod mounts is missing or has no volume, so no node is even considered."""
    detail = _scheduling_problem(pod)
    if detail is None or not any(word in detail.lower() for word in _VOLUME_WORDS):
        return None
    return Cause(
        Reason.VOLUME_NOT_BOUND,
        sentence(f"The volume with the weights cannot be used: {detail}")
        + " Is the claim there, and does its storage class exist? `kubectl get persistentvolumeclaims` "
        "shows both.",
        of_model=True,
    )


def unschedulable(pod: Manifest) -> Cause | None:
    """No node can take the pod."""
    detail = _scheduling_problem(pod)
    if detail is None:
        return None
    return Cause(
        Reason.UNSCHEDULABLE,
        sentence(f"No node can take a server: {detail}")
        + " The platform team can add room or lower the model's resources.",
    )


def evicted(pod: Manifest) -> Cause | None:
    """A node needed its resources back."""
    status = pod.get("status") or {}
    if status.get("phase") != "Failed" or status.get("reason") != "Evicted":
        return None
    words = status.get("message") or "it needed the room"
    return Cause(Reason.EVICTED, sentence(f"A node evicted a server: {words}"))


CHECKS: tuple[Callable[[Manifest], Cause | None], ...] = (
    fetch_failed,  # First, because without weights nothing else can work.
    image_missing,
    container_refused,
    out_of_memory,  # Before crashes, of which it is one with a known reason.
    crashed,
    volume_not_bound,  # Before what is unschedulable, of which it is one with a known remedy.
    unschedulable,
    evicted,
)
"""What is looked for, in this order."""


def _current(pods: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yield the pods that count: they stay, and they have the template of the newest one.

    A pod of an earlier template may fail for a reason that somebody has mended already.
    """
    living = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    newest = max(living, key=seniority, default=None)
    return (pod for pod in living if newest and _template(pod) == _template(newest))


def _template(pod: Manifest) -> str:
    return str((pod["metadata"].get("labels") or {}).get("pod-template-hash", ""))


def _scheduling_problem(pod: Manifest) -> str | None:
    """Return why the scheduler found no node; ``None`` when it did, or has not looked yet."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        refused = condition["type"] == "PodScheduled" and condition["status"] == "False"
        if refused and condition.get("reason") == "Unschedulable":
            return str(condition.get("message", ""))
    return None


def _containers(pod: Manifest) -> Iterator[Container]:
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    for field, is_init in (("initContainerStatuses", True), ("containerStatuses", False)):
        for container in status.get(field) or ():
            yield _container(name, container, is_init=is_init)


def _container(pod: str, status: Manifest, *, is_init: bool) -> Container:
    state = status.get("state") or {}
    now, before = state.get("terminated"), (status.get("lastState") or {}).get("terminated")
    ended_well = now is not None and now.get("exitCode") == 0
    is_done = ended_well if is_init else bool(status.get("ready"))
    waiting = state.get("waiting") or {}
    return Container(
        name=status["name"],
        pod=pod,
        image=status.get("image", ""),
        is_done=is_done,
        is_running="running" in state,
        waiting=waiting.get("reason", ""),
        waiting_message=waiting.get("message", ""),
        ended={} if is_done else now or before or {},
    )


def _first(pod: Manifest, wanted: Callable[[Container], bool]) -> Container | None:
    return next((container for container in _containers(pod) if wanted(container)), None)


def _report(container: Container) -> Cause | None:
    """Return what the JSON line says that the fetcher ends with.

    It comes out of a tenant's namespace, so a reason that no fetcher of ours gives is not repeated.
    """
    lines = str(container.ended.get("message", "")).strip().splitlines()
    try:
        report = parse_json(lines[-1]) if lines else None
    except InvalidInputError:
        return None
    match report:
        case {"reason": str(reason), **others} if reason in set(FetchReason):
            said = others.get("message")
            message = said if said and isinstance(said, str) else _SILENT_FETCHER
            return Cause(FetchReason(reason), sentence(message), of_model=True)
        case _:
            return None
