"""What each part really exposes: its own collectors with a little of everything in them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from starlette.testclient import TestClient

from operator_objects import instance_manifest, pod
from privatellm import labels
from privatellm.backend_keys import PlatformKey
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.telemetry.exposition import show_spans
from privatellm.telemetry.families import operator
from privatellm.telemetry.tracing import CountingSink, SpanResult
from privatellm_authserver.admin import create_admin_app
from privatellm_authserver.fleet import Fleet
from privatellm_authserver.metrics import Meter
from privatellm_authserver.reports import Report
from privatellm_operator.context import ProcessContext
from privatellm_operator.metrics import Metrics
from privatellm_operator.observing.fetched import EndedFetch, FetchResult
from privatellm_operator.observing.figures import WorldCollector
from privatellm_operator.observing.scraping import ModelScraper
from privatellm_operator.observing.usage import UsageTally
from privatellm_operator.queue import Key, WorkQueue
from privatellm_operator.settings import Settings
from privatellm_operator.world.cache import World
from privatellm_sync_agent.agent import Agent
from privatellm_sync_agent.engine.queue import WorkQueue as SyncQueue
from privatellm_sync_agent.engine.synchronizer import Synchronizer
from privatellm_sync_agent.metrics import registry_of

PLATFORM_KEY = PlatformKey.of("a platform key of the tests, long enough")


def samples(exposition: bytes) -> tuple[Sample, ...]:
    """Return every sample of a text."""
    families = text_string_to_metric_families(exposition.decode())
    return tuple(sample for family in families for sample in family.samples)


def types(exposition: bytes) -> dict[str, str]:
    """Return the type of each metric by its name."""
    lines = (line.split() for line in exposition.decode().splitlines())
    return {words[2]: words[3] for words in lines if words[:2] == ["#", "TYPE"]}


def operator_context(*manifests: tuple[kinds.Kind, Manifest]) -> ProcessContext:
    """Return a context whose world holds some objects."""
    world = World()
    for kind, manifest in manifests:
        world[kind].put(manifest)
    client = cast("KubeClient", SimpleNamespace(seconds_ahead=0.25))
    return ProcessContext(client, Settings(), PLATFORM_KEY, world, WorkQueue())


def token_request_manifest(name: str = "key", uid: str = "uid-of-key") -> Manifest:
    """Return a request for a key of the instance ``acme/chat``."""
    metadata = {"name": name, "namespace": "acme", "uid": uid, "resourceVersion": "200"}
    return {"metadata": metadata, "spec": {"instanceName": "chat"}}


def server_pod(name: str = "chat-llama-1", **status: Any) -> Manifest:
    """Return the pod of a server that answers at an address."""
    found = pod(
        name, **{"podIP": "127.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]} | status
    )
    found["metadata"] |= {
        "uid": f"uid-of-{name}",
        "resourceVersion": "300",
        "labels": {labels.LLM_INSTANCE: "chat", labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR},
    }
    return found


def spans() -> CountingSink:
    """Return what is seen of a process that has just begun to send traces."""
    return cast("CountingSink", SimpleNamespace(counts=dict.fromkeys(SpanResult, 0)))


def operator_exposition() -> bytes:
    """Return what an operator exposes that leads and has done a little of everything."""
    context = operator_context(
        (kinds.LLM_INSTANCE, instance_manifest()),
        (kinds.API_TOKEN_REQUEST, token_request_manifest()),
    )
    metrics = Metrics()
    metrics.watch(context.queue)
    metrics.compare_clocks(context.client)
    metrics.show_lead(lambda: True)
    metrics(Key(kinds.LLM_INSTANCE, "acme", "chat"), "success", 0.01)
    metrics.became_ready("created", 4.0)
    metrics.revoked(0.02)
    moment = datetime(2026, 11, 30, 9, tzinfo=UTC)
    metrics.fetch_ended(
        EndedFetch(FetchResult.FETCHED, moment, moment + timedelta(seconds=3), 10**6)
    )
    scraper = ModelScraper(context)
    scraper._take({instance_manifest()["metadata"]["uid"]: {}})
    metrics.show(WorldCollector(context.world, lambda: True))
    metrics.show(scraper)
    metrics.show(UsageTally(context.world, "private-llm-tokens"))
    show_spans(metrics.registry, operator.SPANS, spans())
    return metrics.text()


def authserver_exposition() -> bytes:
    """Return what a ForwardAuth service with a fresh worker exposes."""
    fleet = Fleet(1)
    meter = Meter()
    fleet.workers[0].take(Report(confirmed_at=1.0, seconds_ahead=0.0, totals=meter.totals()))
    with TestClient(create_admin_app(fleet, max_staleness=60, spans=spans())) as admin:
        return admin.get("/metrics").content


def sync_agent(*names: str) -> Agent:
    """Return what its collector sees of an agent that syncs published resources of these names."""
    manager = SimpleNamespace(urls=frozenset(), synchronizers=tuple(_synchronizers(names)))
    agent = SimpleNamespace(published=dict.fromkeys(names), manager=manager)
    return cast("Agent", agent)


def _synchronizers(names: Iterable[str]) -> Iterable[Synchronizer]:
    for name in names:
        seen = SimpleNamespace(
            publication=SimpleNamespace(name=name),
            world=SimpleNamespace(endpoints={}, copies=()),
            queue=SyncQueue(),
            relists=1,
        )
        yield cast("Synchronizer", seen)


def sync_agent_exposition() -> bytes:
    """Return what a sync agent with one published resource exposes."""
    return generate_latest(registry_of(sync_agent("instances"), lambda: True, spans()))


EXPOSITIONS = {
    "Operator": operator_exposition,
    "ForwardAuth service": authserver_exposition,
    "Sync agent": sync_agent_exposition,
}
"""What each part exposes, by the part's name."""
