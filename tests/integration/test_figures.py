"""What the platform shows of an instance that works: real servers, the real operator and the real edge.

One instance lives once, with two keys, and is looked at all the time. What each metric said is compared
with what happened, and every metric that the parts declare must have said something: one that no program
feeds any more would stay at zero for ever, and no dashboard would tell.
"""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import pytest
import pytest_asyncio

from cache_world import demo_weights
from customer import Credentials, ask_for_key, chat, order, until_routed
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.kube.server_clock import BELIEVED_SECONDS
from privatellm.telemetry.families import Family, authserver, operator
from privatellm.telemetry.families.family import families_of
from privatellm_authserver.metrics import TIMED_EVERY
from privatellm_authserver.settings import Settings as CheckSettings
from privatellm_local.platform.rbac import tenant_binding
from telemetry_scrapes import Scrape, scrape

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="module"),
]

SOON = 90.0
"""Seconds in which every server and every pod of the check is asked once, on a busy machine."""

REQUESTS = 2 * TIMED_EVERY
"""Requests beside the completion; so at least two decisions are timed."""

TESTS = Path(__file__).parents[1]

QUIET: Final[dict[Family, str]] = {
    # A pass begins within milliseconds, and nobody looks at just that moment.
    operator.QUEUE_DEPTH: "unit/telemetry/test_queue_age.py::"
    "test_the_wait_is_read_when_somebody_scrapes",
    operator.QUEUE_OLDEST: "unit/telemetry/test_queue_age.py::"
    "test_the_wait_is_read_when_somebody_scrapes",
    # A server would have to be busy, and more than busy, at the moment when it is asked.
    operator.MODEL_PROCESSING: "unit/telemetry/test_figures.py::"
    "test_a_ready_server_is_asked_with_its_backend_key",
    operator.MODEL_DEFERRED: "unit/telemetry/test_figures.py::"
    "test_a_ready_server_is_asked_with_its_backend_key",
    # Nobody takes traces there.
    operator.SPANS: "integration/operator/test_traces.py::"
    "test_an_order_is_one_trace_from_its_creation_to_ready",
    authserver.SPANS: "contract/telemetry/test_edge_trace.py::"
    "test_the_check_counts_the_spans_that_the_collector_took",
    # Something has to break first.
    authserver.WATCH_FAILURES: "chaos/test_api_server.py::"
    "test_a_network_that_swallows_everything_is_noticed_in_time",
    authserver.REJECTED: "integration/test_authserver_revocation.py::"
    "test_a_foreign_secret_in_the_token_namespace_is_counted",
    authserver.WORKER_RESTARTS: "unit/authserver/test_metrics.py::"
    "test_counters_never_run_backwards_when_a_worker_ends",
}
"""Metrics that may be zero where all is well, and the test that sees each at work."""


@dataclass
class Life:
    """The life of one instance, as the metrics tell it.

    Attributes:
        namespace: Where it lived.
        weights: Bytes of its model.
        before: What was shown before it was ordered.
        working: What was shown when all that happened had been counted.
        after: What was shown when nothing of it was left.
        told: Every series that ever said something.
    """

    namespace: str
    weights: int
    before: Scrape
    working: Scrape
    after: Scrape
    told: set[str] = field(default_factory=set)

    def shown(self, name: str) -> float:
        """Return what was shown of this instance while it worked."""
        return self.working.total(name, llm_namespace=self.namespace, llm_instance="chat")

    def growth(self, name: str, **marks: str) -> float:
        """Return by how much a counter grew meanwhile."""
        return self.working.total(name, **marks) - self.before.total(name, **marks)


class Watcher:
    """Looks at all metrics, and remembers which series ever said something."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.told: set[str] = set()

    async def look(self) -> Scrape:
        """Ask every pod of the platform."""
        seen = await scrape(self._client)
        self.told |= seen.told
        return seen


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def life(kubeconfig: Path) -> AsyncIterator[Life]:
    """An instance that was ordered, asked and deleted."""
    namespace = f"test-{secrets.token_hex(4)}"
    async with await KubeClient.connect(kubeconfig) as client:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await client.create(kinds.NAMESPACE, manifest)
        await client.create(kinds.ROLE_BINDING, tenant_binding(namespace))
        yield await _lived(client, namespace)
        await client.delete(kinds.NAMESPACE, namespace)


async def _lived(client: KubeClient, namespace: str) -> Life:
    watcher = Watcher(client)
    weights = (await demo_weights(client)).stat().st_size
    before = await watcher.look()
    await order(client, namespace, "chat")
    credentials = await ask_for_key(client, namespace, "key", "chat")
    await ask_for_key(client, namespace, "brief", "chat")
    await _use(credentials)
    await client.delete(kinds.API_TOKEN_REQUEST, "brief", namespace)

    async def counted() -> Scrape | None:
        seen = await watcher.look()
        shown = seen.of_namespace(namespace)
        names = (operator.MODEL_GENERATED_TOKENS, operator.KEY_REQUESTS, operator.INSTANCE_REQUESTS)
        lag = f"{operator.REVOCATION_LAG.name}_count"
        is_whole = all(shown.get(family.name) for family in names)
        # A worker reports once a second, and the operator asks for what was reported.
        marks = {"llm_namespace": namespace, "llm_instance": "chat"}
        is_whole &= seen.total(operator.KEY_REQUESTS.name, **marks) > REQUESTS
        return seen if is_whole and seen.total(lag) > before.total(lag) else None

    working = await eventually(counted, within=SOON, what="figures of all that happened")
    assert working is not None
    await client.delete(kinds.API_TOKEN_REQUEST, "key", namespace)
    await client.delete(kinds.LLM_INSTANCE, "chat", namespace)

    async def forgotten() -> Scrape | None:
        seen = await watcher.look()
        return None if seen.of_namespace(namespace) else seen

    after = await eventually(forgotten, within=SOON, what="the end of the instance's series")
    assert after is not None
    return Life(namespace, weights, before, working, after, watcher.told)


async def _use(credentials: Credentials) -> None:
    async with httpx.AsyncClient(headers=credentials.headers) as http:
        await until_routed(http, credentials)
        answer = await chat(http, credentials)
        assert answer.status_code == 200, answer.text

        async def served() -> bool:
            return (await http.get(f"{credentials.base_url}/models")).status_code == 200

        for _ in range(REQUESTS):
            # Ten come at once; for more the edge says 429, and a client asks again.
            await eventually(served, what="an answer within the key's rate")


async def test_an_instance_shows_what_its_servers_counted(life: Life) -> None:
    """As llama.cpp counts it, without the pods that come and go."""
    assert life.shown("private_llm_model_generated_tokens_total") > 0
    assert life.shown("private_llm_model_prompt_tokens_total") > 0
    assert life.shown("private_llm_model_generation_seconds_total") > 0
    assert life.shown("private_llm_model_servers_scraped") == 1
    assert life.shown("private_llm_instance_ready_replicas") == 1
    assert life.growth("private_llm_model_scrapes_total", result="success") >= 1


async def test_requests_count_for_their_key_and_their_instance(life: Life) -> None:
    """Each one that the edge let in, whatever became of it behind."""
    assert life.shown("private_llm_key_requests_total") > REQUESTS
    assert life.shown("private_llm_key_requests_total") == life.shown(
        "private_llm_instance_requests_total"
    )


async def test_a_fetch_counts_with_its_size_and_its_time(life: Life) -> None:
    """By the last words of the real fetcher in the instance's pod."""
    assert life.growth("private_llm_fetches_total", result="fetched") >= 1
    assert life.growth("private_llm_fetch_bytes_total") >= life.weights
    assert life.growth("private_llm_fetch_seconds_count") >= 1


async def test_passes_and_the_wait_for_ready_are_measured(life: Life) -> None:
    """By kind, and from the order on."""
    for kind in ("LLMInstance", "APITokenRequest"):
        assert life.growth("private_llm_reconcile_total", kind=kind, result="success") >= 1
        assert life.growth("private_llm_reconcile_seconds_count", kind=kind) >= 1
        assert life.growth("private_llm_reconcile_seconds_sum", kind=kind) > 0
    assert life.growth("private_llm_time_to_ready_seconds_count", occasion="created") >= 1


async def test_the_leader_counts_objects_by_phase(life: Life) -> None:
    """And says that it leads, by a clock that agrees with the API server's."""
    assert life.working.values("private_llm_leading") == [1]
    assert life.working.total("private_llm_instances", phase="Ready") >= 1
    assert life.working.total("private_llm_token_requests", phase="Ready") >= 1
    [skew] = life.working.values("private_llm_clock_skew_seconds")
    assert abs(skew) < BELIEVED_SECONDS


async def test_the_check_shows_decisions_and_a_fresh_index(life: Life) -> None:
    """From its workers' reports, all workers together."""
    assert life.growth("private_llm_auth_decisions_total", reason="allowed") > REQUESTS
    assert life.growth("private_llm_auth_decision_duration_seconds_count") >= 2
    assert life.working.total("private_llm_auth_index_tokens") >= 1
    assert set(life.working.values("private_llm_auth_worker_up")) == {1}
    ages = life.working.values("private_llm_auth_index_age_seconds")
    assert 0 <= max(ages) < CheckSettings.model_fields["max_staleness_seconds"].default


async def test_the_end_of_a_key_is_measured(life: Life) -> None:
    """From the operator's request until every worker of the check refused it."""
    assert life.growth("private_llm_revocation_lag_seconds_count") >= 1
    assert life.working.total("private_llm_auth_index_revoked") >= 1


async def test_the_series_of_an_instance_end_with_it(life: Life) -> None:
    """Those of its keys, too."""
    assert life.working.of_namespace(life.namespace)
    assert life.after.of_namespace(life.namespace) == {}


async def test_every_metric_that_is_declared_says_something(life: Life) -> None:
    """None waits for an event that no program tells it of."""
    declared = (*families_of(operator), *families_of(authserver))
    silent = [f.name for f in declared if f not in QUIET and life.told.isdisjoint(f.series)]

    assert silent == []


@pytest.mark.parametrize("family", QUIET, ids=lambda family: family.name)
async def test_a_metric_that_may_be_quiet_is_seen_at_work_elsewhere(family: Family) -> None:
    """By a test that is there."""
    file, _, name = QUIET[family].partition("::")

    assert f"def {name}(" in (TESTS / file).read_text()
    assert family in (*families_of(operator), *families_of(authserver))
