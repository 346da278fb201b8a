"""Everything about one instance, gathered for ``describe`` and put into words.

Reading is done here; what may not be read is named and left out, so that a person with few rights still
sees the rest. Putting into words is pure.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from privatellm import labels
from privatellm.api.llm_instance import LLMInstance
from privatellm.errors import ForbiddenError
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import label_value
from privatellm_cli import columns, downloads
from privatellm_cli.advice import next_step
from privatellm_cli.cluster import Cluster, Name
from privatellm_cli.output import elapsed, field, grid, printable, table

MOST_EVENTS = 12
"""Events that are shown, the latest ones."""

FETCHING, SOURCE_FAILING = "Fetching", "SourceFailing"
"""The operator's reasons for a download that goes on, and for one whose source fails."""


@dataclass(frozen=True, slots=True)
class Description:
    """An instance and what belongs to it.

    Attributes:
        instance: The LLMInstance.
        pods: Its model servers.
        requests: The token requests for it.
        events: About it and its pods, oldest first.
        hidden: Kinds that may not be read.
        trouble: Why the fetcher tries again, in one sentence; its log tells it minutes before a condition.
    """

    instance: Manifest
    pods: tuple[Manifest, ...]
    requests: tuple[Manifest, ...]
    events: tuple[Manifest, ...]
    hidden: tuple[str, ...]
    trouble: str = ""

    def document(self) -> Manifest:
        """Return everything for programs."""
        return {
            "instance": self.instance,
            "pods": list(self.pods),
            "tokenRequests": list(self.requests),
            "events": list(self.events),
            "notReady": _finding(self),
            "hidden": list(self.hidden),
        }


async def gather(cluster: Cluster, name: Name) -> Description:
    """Read an instance and what belongs to it.

    Raises:
        NotFoundError: when there is no such instance.
    """
    instance = await cluster.require(kinds.LLM_INSTANCE, name)
    hidden: list[str] = []

    async def readable(kind: Kind, selector: str = "") -> tuple[Manifest, ...]:
        try:
            return (await cluster.client.list(kind, name.namespace, labels=selector)).items
        except ForbiddenError:
            hidden.append(kind.plural)
            return ()

    pods = await readable(kinds.POD, f"{labels.LLM_INSTANCE}={label_value(name.name)}")
    requests = await readable(kinds.API_TOKEN_REQUEST)
    events = await readable(kinds.EVENT)
    uids = {item["metadata"]["uid"] for item in (instance, *pods)}
    return Description(
        instance=instance,
        pods=pods,
        requests=tuple(r for r in requests if r["spec"]["instanceName"] == name.name),
        events=tuple(sorted((e for e in events if _is_about(e, uids)), key=_event_time)),
        hidden=tuple(hidden),
        trouble=await downloads.trouble(cluster, name.namespace, pods),
    )


def text(description: Description, now: datetime) -> str:
    """Return a description for people."""
    sections = (
        _summary(description.instance, now),
        _why(description),
        _conditions(description.instance, now),
        _servers(description.pods, now),
        _requests(description.requests),
        _events(description.events, now),
        _hidden(description.hidden),
    )
    return "\n\n".join(section for section in sections if section)


def _summary(instance: Manifest, now: datetime) -> str:
    created = field("metadata.creationTimestamp")(instance)
    facts = {
        "Name": field("metadata.name")(instance),
        "Namespace": field("metadata.namespace")(instance),
        "Model": field("spec.model")(instance),
        "Phase": field("status.phase")(instance) or "Pending",
        "Ready": field("status.ready")(instance),
        "Endpoint": field("status.endpoint")(instance),
        "Checksum": field("status.model.sha256")(instance),
        "Age": elapsed(created, now),
    }
    return grid([[f"{name}:", printable(value)] for name, value in facts.items() if value])


def _why(description: Description) -> str:
    finding = _finding(description)
    if finding is None:
        return ""
    return f"Not ready:    {_line(finding['message'])}\nWhat to do:   {finding['nextStep']}"


def _finding(description: Description) -> dict[str, str] | None:
    """Return what keeps an instance from being ready; what its fetcher meets is ahead of the conditions."""
    metadata = description.instance["metadata"]
    condition = columns.why_not_ready(LLMInstance.parse(description.instance))
    if condition is None:
        return None
    reason, message = condition.reason, condition.message
    if reason == FETCHING and description.trouble:
        reason, message = SOURCE_FAILING, f"The model's source fails. {description.trouble}"
    return {
        "condition": condition.type,
        "reason": reason,
        "message": message,
        "nextStep": next_step(reason, f"{metadata['namespace']}/{metadata['name']}"),
    }


def _conditions(instance: Manifest, now: datetime) -> str:
    rows = [["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"]]
    rows += [
        [
            condition["type"],
            condition["status"],
            condition["reason"],
            elapsed(condition.get("lastTransitionTime", ""), now),
            _line(condition.get("message", "")),
        ]
        for condition in instance.get("status", {}).get("conditions") or ()
    ]
    return _section("Conditions", rows)


def _servers(pods: tuple[Manifest, ...], now: datetime) -> str:
    rows = [["POD", "CONTAINER", "STATE", "RESTARTS", "AGE"]]
    for pod in pods:
        status = pod.get("status", {})
        age = elapsed(field("metadata.creationTimestamp")(pod), now)
        for container in _containers(status):
            state, restarts = _state(container), str(container.get("restartCount", 0))
            rows.append([pod["metadata"]["name"], container["name"], state, restarts, age])
        if not _containers(status):
            rows.append([pod["metadata"]["name"], "-", status.get("phase", "Pending"), "0", age])
    return _section("Servers", rows)


def _containers(status: Manifest) -> list[Manifest]:
    names = ("initContainerStatuses", "containerStatuses")
    return [container for name in names for container in status.get(name) or ()]


def _state(container: Manifest) -> str:
    """Return a container's state in a few words: ``running, ready``, ``waiting: CrashLoopBackOff``."""
    state = container.get("state") or {}
    if "running" in state:
        return "running, ready" if container.get("ready") else "running, not ready"
    for name in ("waiting", "terminated"):
        if name in state:
            return f"{name}: {_line(state[name].get('reason') or '?')}"
    return "unknown"


def _requests(requests: tuple[Manifest, ...]) -> str:
    if not requests:
        return ""
    shown = table(requests, columns.requests(with_namespace=False))
    return "Keys:\n" + "\n".join(f"  {line}" for line in shown.splitlines())


def _events(events: tuple[Manifest, ...], now: datetime) -> str:
    rows = [["AGE", "TYPE", "REASON", "OBJECT", "NOTE"]]
    rows += [
        [
            elapsed(_event_time(event), now),
            event.get("type", ""),
            event.get("reason", ""),
            f"{event['regarding'].get('kind', '').lower()}/{event['regarding'].get('name', '')}",
            _line(event.get("note", "")),
        ]
        for event in events[-MOST_EVENTS:]
    ]
    return _section("Events", rows)


def _hidden(hidden: tuple[str, ...]) -> str:
    return f"You may not read {', '.join(hidden)} here, so they are left out." if hidden else ""


def _section(title: str, rows: list[list[str]]) -> str:
    return f"{title}:\n{grid(rows, indent='  ')}" if len(rows) > 1 else ""


def _line(value: str) -> str:
    return " ".join(printable(value).split())


def _is_about(event: Manifest, uids: set[Any]) -> bool:
    return (event.get("regarding") or {}).get("uid") in uids


def _event_time(event: Manifest) -> str:
    """Return when an event happened last; old and new reporters use different fields."""
    times = (
        (event.get("series") or {}).get("lastObservedTime"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return next((str(time) for time in times if time), "")
