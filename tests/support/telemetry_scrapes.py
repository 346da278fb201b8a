"""What the platform's running pods expose: asked for as Prometheus would, and added up."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import httpx
from prometheus_client.samples import Sample

from privatellm import labels
from privatellm.kube import KubeClient, kinds
from privatellm_local.platform.facts import AUTHSERVER, OPERATOR, SYSTEM_NAMESPACE
from telemetry_parts import samples

PORTS: Final = {OPERATOR: 8080, AUTHSERVER: 8091}
"""Where each part exposes its metrics, by the name of its pods."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """What all pods exposed at one moment."""

    samples: tuple[Sample, ...]

    def values(self, name: str, **marks: str) -> list[float]:
        """Return the values of a series' name, of those samples that carry these labels."""
        wanted = marks.items()
        return [s.value for s in self.samples if s.name == name and wanted <= s.labels.items()]

    def total(self, name: str, **marks: str) -> float:
        """Return their sum; 0 when there is none."""
        return sum(self.values(name, **marks))

    def of_namespace(self, namespace: str) -> dict[str, float]:
        """Return what is shown of the instances of a namespace, by the metric's name."""
        return {s.name: s.value for s in self.samples if s.labels.get("llm_namespace") == namespace}

    @property
    def told(self) -> frozenset[str]:
        """The names of the samples that say something: neither zero nor NaN."""
        return frozenset(s.name for s in self.samples if abs(s.value) > 0)


async def scrape(client: KubeClient, parts: Iterable[str] = PORTS) -> Scrape:
    """Ask every pod of the parts."""
    found: list[Sample] = []
    async with httpx.AsyncClient() as http:
        for part in parts:
            pods = await client.list(kinds.POD, SYSTEM_NAMESPACE, labels=f"{labels.NAME}={part}")
            for pod in pods.items:
                url = f"http://{pod['status']['podIP']}:{PORTS[part]}/metrics"
                found += samples((await http.get(url)).content)
    return Scrape(tuple(found))
