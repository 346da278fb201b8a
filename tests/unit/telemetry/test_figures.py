"""What is shown of objects, and that it ends with them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from foreign_answers import answering, head, in_pieces
from operator_objects import UID, instance_manifest
from privatellm.kube import Manifest, kinds
from privatellm.names import slug_of
from privatellm_operator.metrics import Metrics
from privatellm_operator.observing import scraping
from privatellm_operator.observing.figures import WorldCollector
from privatellm_operator.observing.scraping import InstanceFigures, ModelScraper, parse_figures
from privatellm_sync_agent.metrics import registry_of
from telemetry_parts import (
    PLATFORM_KEY,
    operator_context,
    samples,
    server_pod,
    sync_agent,
    sync_agent_exposition,
)

WHO = {"llm_namespace": "acme", "llm_instance": "chat"}
TEXT = """\
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 100
llamacpp:tokens_predicted_total 50
llamacpp:prompt_seconds_total 1.5
llamacpp:tokens_predicted_seconds_total 2.5
llamacpp:requests_processing 1
llamacpp:requests_deferred 3
llamacpp:n_decode_total 9
"""


def shown(collector: Collector) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    registry = CollectorRegistry()
    registry.register(collector)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for sample in samples(generate_latest(registry))
    }


def series(name: str, labels: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


def with_status(manifest: Manifest, **status: Any) -> Manifest:
    return manifest | {"status": status}


def test_objects_are_counted_by_phase_and_one_without_a_status_is_pending() -> None:
    """Every phase is there, so that a rate of something new begins at zero."""
    ready = with_status(instance_manifest("a", uid="uid-a"), phase="Ready", readyReplicas=1)
    context = operator_context(
        (kinds.LLM_INSTANCE, ready),
        (kinds.LLM_INSTANCE, instance_manifest("b", uid="uid-b", replicas=2)),
    )

    found = shown(WorldCollector(context.world, lambda: True))

    counts = {
        dict(labels)["phase"]: value
        for (name, labels), value in found.items()
        if name == "private_llm_instances"
    }
    assert counts == {
        **dict.fromkeys(("Provisioning", "Degraded", "Stopped", "Failed", "Terminating"), 0),
        "Ready": 1,
        "Pending": 1,
    }
    b = {"llm_namespace": "acme", "llm_instance": "b"}
    assert found[series("private_llm_instance_wanted_replicas", b)] == 2
    assert found[series("private_llm_instance_ready_replicas", b)] == 0
    details = {"slug": slug_of("uid-b"), "model": "tinyllama", "phase": "Pending"}
    assert found[series("private_llm_instance_info", b | details)] == 1


def test_the_series_of_an_instance_vanish_with_it() -> None:
    """Those of the world and those of its servers."""
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()))
    world, scraper = WorldCollector(context.world, lambda: True), ModelScraper(context)
    scraper._take({UID: {"pod": parse_figures(TEXT)}})
    collectors: tuple[Collector, ...] = (world, scraper)
    assert all(
        any(("llm_instance", "chat") in labels for _, labels in shown(one)) for one in collectors
    )

    gone = instance_manifest()
    gone["metadata"] |= {"resourceVersion": "101"}
    context.world.observe(kinds.LLM_INSTANCE, "DELETED", gone)

    for collector in collectors:
        assert not any(("llm_instance", "chat") in labels for _, labels in shown(collector))
    scraper._take({})
    assert scraper._figures == {}


def test_who_does_not_lead_shows_no_objects() -> None:
    """Its picture of the cluster is not kept up to date."""
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()))

    assert shown(WorldCollector(context.world, lambda: False)) == {}


def test_the_series_of_a_published_resource_vanish_with_it() -> None:
    """They are read off the synchronizers that run."""
    assert b'resource="instances"' in sync_agent_exposition()
    assert b"resource=" not in generate_latest(registry_of(sync_agent(), lambda: True))


def test_counters_of_servers_add_up_and_never_run_backwards() -> None:
    """A server that starts again counts from zero, and one that goes leaves what it counted."""
    figures = InstanceFigures()
    name = "llamacpp:tokens_predicted_total"

    figures.take({"a": {name: 10.0}, "b": {name: 1.0}})
    figures.take({"a": {name: 4.0}, "b": {name: 3.0}})
    figures.take({"b": {name: 3.0}})

    assert figures.totals[name] == 10 + 1 + 4 + 2
    assert figures.now(name) == 3


def test_a_server_that_misses_a_round_is_not_counted_twice() -> None:
    """What it said before it fell silent is known until its pod is gone."""
    figures = InstanceFigures()
    name = "llamacpp:tokens_predicted_total"

    figures.take({"a": {name: 100.0}})
    figures.take({})
    figures.keep({"a"})
    assert figures.now(name) == 0
    figures.take({"a": {name: 101.0}})

    assert figures.totals[name] == 101


def test_what_a_server_counted_before_our_time_is_not_counted_again() -> None:
    """Another leader has; also of a server that is silent when we first ask."""
    figures = InstanceFigures()
    name = "llamacpp:tokens_predicted_total"

    figures.take({"a": {name: 100.0}, "new": {name: 1.0}}, earlier={"a", "late"})
    figures.take({"a": {name: 103.0}, "late": {name: 50.0}}, earlier={"a", "late"})
    figures.take({"a": {name: 2.0}, "late": {name: 51.0}}, earlier={"a", "late"})

    assert figures.totals[name] == 1 + 3 + 2 + 1


def test_a_counter_that_a_server_leaves_out_is_remembered() -> None:
    """When it tells of it again, only what is new is added; also what another leader counted is not."""
    figures = InstanceFigures()
    name, other = "llamacpp:tokens_predicted_total", "llamacpp:prompt_tokens_total"

    figures.take({"a": {name: 100.0}, "b": {other: 1.0}}, earlier={"b"})
    figures.take({"a": {}, "b": {other: 1.0}}, earlier={"b"})
    figures.take({"a": {name: 101.0}, "b": {name: 70.0}}, earlier={"b"})
    figures.take({"a": {name: 101.0}, "b": {name: 72.0}}, earlier={"b"})

    assert figures.totals == dict.fromkeys(figures.totals, 0.0) | {name: 101 + 2}


def test_only_finite_figures_that_we_show_are_taken() -> None:
    """Whatever a server in a tenant's namespace answers."""
    text = "llamacpp:requests_processing NaN\nllamacpp:requests_deferred 1e300\nother 1\nx\n{}"

    assert parse_figures(text) == {}
    assert parse_figures(TEXT)["llamacpp:requests_deferred"] == 3


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """A server with figures at the port of model servers; yields the credentials it was shown."""
    seen: list[str] = []

    async def metrics(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(text=TEXT)

    application = web.Application()
    application.router.add_get("/metrics", metrics)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    monkeypatch.setattr(scraping, "HTTP_PORT", runner.addresses[0][1])
    yield seen
    await runner.cleanup()


async def test_a_ready_server_is_asked_with_its_backend_key(server: list[str]) -> None:
    """Its figures are shown by instance, without the pod; who is not ready is not asked."""
    starting = server_pod("chat-llama-2", conditions=[{"type": "Ready", "status": "False"}])
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()))
    scraper = ModelScraper(context)
    await scraper.scrape()
    for pod in (server_pod(), starting):
        context.world.observe(kinds.POD, "ADDED", pod)

    await scraper.scrape()

    assert server == [f"Bearer {PLATFORM_KEY.backend_key(UID)}"]
    found = shown(scraper)
    assert found[series("private_llm_model_generated_tokens_total", WHO)] == 50
    assert found[series("private_llm_model_requests_processing", WHO)] == 1
    assert found[series("private_llm_model_requests_deferred", WHO)] == 3
    assert found[series("private_llm_model_servers_scraped", WHO)] == 1
    assert found[series("private_llm_model_scrapes_total", {"result": "success"})] == 1


WHOLE = TEXT.encode()
LACKING = WHOLE.replace(b"llamacpp:tokens_predicted_total 50\n", b"")

NO_ANSWERS = {
    "ends in its middle": in_pieces(WHOLE, sent=len(WHOLE) // 2),
    "ends before its last byte": in_pieces(WHOLE, sent=len(WHOLE) - 1),
    "ends within a number, of no known length": (
        b"HTTP/1.1 200 OK\r\n\r\n" + WHOLE.partition(b".5\nllamacpp:requests_processing")[0],
    ),
    "lacks a counter": in_pieces(LACKING),
    "has a counter that is none": in_pieces(WHOLE.replace(b"_total 50", b"_total NaN")),
    "is longer than any honest one": in_pieces(WHOLE + b"# more\n" * scraping.LARGEST_ANSWER),
    "is a refusal with figures": (head(len(WHOLE), status="401 Unauthorized") + WHOLE,),
}
"""What a server may answer between two whole answers."""


async def asked_once(
    scraper: ModelScraper, patch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return what is shown after the servers were asked and answered in these pieces."""
    async with answering(*pieces) as server:
        patch.setattr(scraping, "HTTP_PORT", server.port)
        await scraper.scrape()
    assert len(server.questions) == 1
    return shown(scraper)


async def scraper_of_a_new_server(patch: pytest.MonkeyPatch) -> ModelScraper:
    """Return a scraper that has heard one whole answer of a server that is its own to count."""
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()))
    scraper = ModelScraper(context)
    await scraper.scrape()
    context.world.observe(kinds.POD, "ADDED", server_pod())
    await asked_once(scraper, patch, in_pieces(WHOLE))
    return scraper


async def test_an_answer_in_pieces_counts_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network cuts where it likes; nothing is counted again at the next answer."""
    scraper = await scraper_of_a_new_server(monkeypatch)

    found = await asked_once(scraper, monkeypatch, in_pieces(WHOLE))

    assert found[series("private_llm_model_prompt_tokens_total", WHO)] == 100
    assert found[series("private_llm_model_generated_tokens_total", WHO)] == 50
    assert found[series("private_llm_model_scrapes_total", {"result": "success"})] == 2
    assert found[series("private_llm_model_scrapes_total", {"result": "failure"})] == 0


@pytest.mark.parametrize("pieces", NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_what_is_no_whole_answer_changes_no_counter(
    monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    """It counts as a failure, and the next whole answer adds nothing that was counted before."""
    scraper = await scraper_of_a_new_server(monkeypatch)

    failed = await asked_once(scraper, monkeypatch, pieces)
    found = await asked_once(scraper, monkeypatch, in_pieces(WHOLE))

    assert failed[series("private_llm_model_scrapes_total", {"result": "failure"})] == 1
    assert failed[series("private_llm_model_servers_scraped", WHO)] == 0
    for shown_now in (failed, found):
        assert shown_now[series("private_llm_model_generated_tokens_total", WHO)] == 50
        assert shown_now[series("private_llm_model_prompt_tokens_total", WHO)] == 100
        assert shown_now[series("private_llm_model_generation_seconds_total", WHO)] == 2.5
    assert found[series("private_llm_model_scrapes_total", {"result": "success"})] == 2


async def test_a_backend_key_is_not_carried_to_where_a_server_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A redirect is no answer, and whoever is named there is not asked."""
    scraper = await scraper_of_a_new_server(monkeypatch)
    async with answering(*in_pieces(WHOLE)) as other:
        location = f"Location: http://127.0.0.1:{other.port}/metrics"

        found = await asked_once(
            scraper, monkeypatch, (head(0, location, status="307 Temporary Redirect"),)
        )

    assert other.questions == []
    assert found[series("private_llm_model_scrapes_total", {"result": "failure"})] == 1


def test_the_clocks_difference_is_shown_as_the_client_tells_it() -> None:
    """Positive when ours is ahead, so that an alert names the clock that is wrong."""
    metrics = Metrics()
    metrics.compare_clocks(operator_context().client)

    assert b"private_llm_clock_skew_seconds 0.25" in metrics.text()


async def test_a_pod_of_another_namespace_gets_no_key(server: list[str]) -> None:
    """Whatever its labels say, it is no server of this instance."""
    foreign = server_pod()
    foreign["metadata"]["namespace"] = "mallory"
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()), (kinds.POD, foreign))

    await ModelScraper(context).scrape()

    assert server == []


async def test_a_leader_begins_at_zero_with_the_servers_that_it_finds(server: list[str]) -> None:
    """What they had counted was shown by the leader before it."""
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()), (kinds.POD, server_pod()))
    scraper = ModelScraper(context)

    await scraper.scrape()

    assert len(server) == 1
    assert shown(scraper)[series("private_llm_model_generated_tokens_total", WHO)] == 0


async def test_a_server_that_does_not_answer_is_counted_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, unused_port: int
) -> None:
    """Its earlier figures stay in the totals."""
    monkeypatch.setattr(scraping, "HTTP_PORT", unused_port)
    context = operator_context((kinds.LLM_INSTANCE, instance_manifest()), (kinds.POD, server_pod()))
    scraper = ModelScraper(context)
    scraper._take({UID: {"earlier": parse_figures(TEXT)}})

    await scraper.scrape()

    found = shown(scraper)
    assert found[series("private_llm_model_generated_tokens_total", WHO)] == 50
    assert found[series("private_llm_model_servers_scraped", WHO)] == 0
    assert found[series("private_llm_model_scrapes_total", {"result": "failure"})] == 1


@pytest.fixture
def unused_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_a_scrape_over_thousands_of_objects_lets_the_process_go_on() -> None:
    """The long text is written by another thread, from what was read before."""
    instances = (instance_manifest(f"i{number}", uid=f"uid-{number}") for number in range(2000))
    context = operator_context(*((kinds.LLM_INSTANCE, one) for one in instances))
    metrics = Metrics()
    metrics.show(WorldCollector(context.world, lambda: True))

    writing = asyncio.create_task(metrics.text_in_peace())
    await asyncio.sleep(0)
    context.world.note_definition(kinds.LLM_INSTANCE, defined=False)
    text = await writing

    assert text.count(b"private_llm_instance_info{") == 2000
    assert metrics.text().count(b"private_llm_instance_info{") == 0
