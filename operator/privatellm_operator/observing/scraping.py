"""What model servers measure, asked for by the operator and shown by instance.

llama.cpp shows its metrics only to who holds the backend key. No scraper of the platform does: a key for
each instance, copied to where Prometheus reads it, would be a new way around the edge. The operator derives
the keys anyway (ADR 51), so it asks every server that is ready, takes a few numbers, and shows them by
instance without the pod. Counters add up what each server counted anew, so that a server that starts again
or goes does not make them run backwards. Each leader counts from zero what comes during its own time, so
that no token is counted by two.

The answers come out of tenants' namespaces: they are bounded, they are numbers, and nothing is decided by
them. An instance's series end with it.
"""

import asyncio
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm.telemetry.exposition import counter_of, gauge_of
from privatellm.telemetry.families import Family
from privatellm.telemetry.families import operator as families
from privatellm_operator import asking
from privatellm_operator.context import ProcessContext
from privatellm_operator.observing.counting import growth
from privatellm_operator.render.service import HTTP_PORT
from privatellm_operator.world.watched import in_namespace

PER_SECOND: Final = 25
"""Servers that are asked in a second at most, which is a hundredth of a core."""

ANSWER_SECONDS: Final = 5.0
LARGEST_ANSWER: Final = 2**16

COUNTERS: Final[Mapping[str, Family]] = {
    "llamacpp:prompt_tokens_total": families.MODEL_PROMPT_TOKENS,
    "llamacpp:tokens_predicted_total": families.MODEL_GENERATED_TOKENS,
    "llamacpp:prompt_seconds_total": families.MODEL_PROMPT_SECONDS,
    "llamacpp:tokens_predicted_seconds_total": families.MODEL_GENERATION_SECONDS,
}
"""What a server only counts up, by llama.cpp's names."""

GAUGES: Final[Mapping[str, Family]] = {
    "llamacpp:requests_processing": families.MODEL_PROCESSING,
    "llamacpp:requests_deferred": families.MODEL_DEFERRED,
}
"""What a server has at the moment."""

_LINE: Final = re.compile(r"(llamacpp:\w+)(?:\{[^}\n]*\})? (\S+)")
_LARGEST: Final = 1e18

Answer = Mapping[str, float]
"""Figures of one server, by llama.cpp's names."""


def parse_figures(text: str) -> dict[str, float]:
    """Return the figures that we show out of a server's exposition; what makes no sense is left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None or match[1] not in {*COUNTERS, *GAUGES}:
            continue
        value = _number(match[2])
        if value is not None:
            found[match[1]] = value
    return found


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= _LARGEST else None


@dataclass(slots=True)
class InstanceFigures:
    """What the servers of one instance measured.

    Attributes:
        totals: Counted by all its servers since we first asked, ended ones included.
        servers: The last answer of each server, by the UID of its pod; who was silent is not there.
        heard: The same, with what those said before who are silent now.
    """

    totals: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0.0))
    servers: dict[str, Answer] = field(default_factory=dict)
    heard: dict[str, Answer] = field(default_factory=dict)

    def take(self, answers: Mapping[str, Answer], earlier: Container[str] = ()) -> None:
        """Take in a round of answers, by the UID of each pod.

        Args:
            answers: What the servers say; who did not answer is not running for us.
            earlier: Pods that were there before we began to ask. What they counted until they first answer
                is the former leader's.
        """
        for uid, answer in answers.items():
            before = self.heard.get(uid, {})
            for name in COUNTERS.keys() & answer.keys():
                first = answer[name] if uid in earlier else 0.0
                self.totals[name] += growth(before.get(name, first), answer[name])
            # A counter that is left out was not set back: what was counted of it stays counted.
            self.heard[uid] = {**before, **answer}
        self.servers = dict(answers)

    def keep(self, pods: Container[str]) -> None:
        """Forget what pods said that are gone."""
        self.heard = {uid: answer for uid, answer in self.heard.items() if uid in pods}

    def now(self, name: str) -> float:
        """Return a gauge, over all servers that answered."""
        return sum(answer.get(name, 0.0) for answer in self.servers.values())


@dataclass(frozen=True, slots=True)
class _Server:
    instance_uid: str
    pod_uid: str
    url: str


class ModelScraper(Collector):
    """Asks model servers in turns, and shows the figures of instances that exist."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._figures: dict[str, InstanceFigures] = {}
        self._results = {"success": 0, "failure": 0}
        self._earlier: frozenset[str] | None = None

    async def scrape(self) -> None:
        """Ask every server that is ready, a few at a time."""
        if self._earlier is None:
            self._earlier = self._pods()
        servers = tuple(self._servers())
        answers: dict[str, dict[str, Answer]] = {server.instance_uid: {} for server in servers}
        async with asking.open_session(ANSWER_SECONDS) as session:
            for start in range(0, len(servers), PER_SECOND):
                if start:
                    await asyncio.sleep(1.0)
                batch = servers[start : start + PER_SECOND]
                for server, answer in zip(batch, await self._ask(session, batch), strict=True):
                    self._results["failure" if answer is None else "success"] += 1
                    if answer is not None:
                        answers[server.instance_uid][server.pod_uid] = answer
        self._take(answers)

    async def _ask(
        self, session: aiohttp.ClientSession, servers: Sequence[_Server]
    ) -> list[Answer | None]:
        key_of = self._context.platform_key.backend_key
        return await asyncio.gather(
            *(_ask(session, server.url, key_of(server.instance_uid)) for server in servers)
        )

    def _take(self, answers: Mapping[str, Mapping[str, Answer]]) -> None:
        existing = {m["metadata"]["uid"] for m in self._context.world[kinds.LLM_INSTANCE].all()}
        self._figures = {
            uid: self._figures.get(uid, InstanceFigures())
            for uid in {*answers, *self._figures} & existing
        }
        pods = self._pods()
        for uid, figures in self._figures.items():
            figures.take(answers.get(uid, {}), self._earlier or ())
            figures.keep(pods)

    def _pods(self) -> frozenset[str]:
        return frozenset(pod["metadata"]["uid"] for pod in self._context.world[kinds.POD].all())

    def _servers(self) -> Iterable[_Server]:
        """Yield the servers to ask; a pod counts for the instance of its own namespace alone."""
        world = self._context.world
        for pod in world[kinds.POD].all():
            metadata = pod["metadata"]
            label = (metadata.get("labels") or {}).get(labels.LLM_INSTANCE, "")
            found = world[kinds.LLM_INSTANCE].find(in_namespace(metadata["namespace"], label))
            if label and found and _is_ready(pod):
                yield _Server(
                    found[0]["metadata"]["uid"],
                    metadata["uid"],
                    asking.base_url(pod["status"]["podIP"], HTTP_PORT) + "/metrics",
                )

    @override
    def collect(self) -> Iterable[Metric]:
        counted = {name: counter_of(family) for name, family in COUNTERS.items()}
        current = {name: gauge_of(family) for name, family in GAUGES.items()}
        answering = gauge_of(families.MODEL_SCRAPED)
        for who, figures in self._shown():
            answering.add_metric(who, len(figures.servers))
            for name, total in counted.items():
                total.add_metric(who, figures.totals[name])
            for name, level in current.items():
                level.add_metric(who, figures.now(name))
        yield from (*counted.values(), *current.values(), answering, self._scrapes())

    def _shown(self) -> Iterable[tuple[list[str], InstanceFigures]]:
        """Yield namespace and name of each instance that exists, with its figures."""
        for manifest in self._context.world[kinds.LLM_INSTANCE].all():
            metadata = manifest["metadata"]
            figures = self._figures.get(metadata["uid"])
            if figures is not None:
                yield [metadata["namespace"], metadata["name"]], figures

    def _scrapes(self) -> Metric:
        metric = counter_of(families.MODEL_SCRAPES)
        for result, count in self._results.items():
            metric.add_metric([result], count)
        return metric


def _is_ready(pod: Manifest) -> bool:
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    return bool(status.get("podIP")) and any(
        c.get("type") == "Ready" and c.get("status") == "True" for c in conditions
    )


async def _ask(session: aiohttp.ClientSession, url: str, key: str) -> Answer | None:
    headers = {"Authorization": f"Bearer {key}"}
    try:
        body = await asking.ask(session, url, LARGEST_ANSWER, headers=headers)
    except asking.NoAnswerError:
        # A server that just ended, or a network that lets nobody ask: then nothing is shown.
        return None
    # What follows the last line feed is a line that was cut off, perhaps in the middle of its number.
    lines, _, _ = body.decode(errors="replace").rpartition("\n")
    figures = parse_figures(lines)
    # A server has all of its counters from its start on; without one this is no answer of a server.
    return figures if figures.keys() >= COUNTERS.keys() else None
