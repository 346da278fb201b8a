"""What the reconcile bench measures: writes issued directly, the operator's, a restart, and idleness.

Every measurement ends with a condition seen at the API server, never with a word of the operator. The
direct writer does what the operator does for an instance, object by object and with as many at the same
time, but knows everything beforehand and watches nothing.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_machine import cpu_seconds
from customer import token_request
from eventually import eventually
from operator_passes import MODEL, catalogue_entry, order
from operator_process import RunningOperator, environment, running
from privatellm import labels
from privatellm.api.llm_instance import LLMInstance
from privatellm.api.llm_model import LLMModel
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, Manifest, kinds
from privatellm.names import endpoint_of, slug_of
from privatellm_local.edge.definitions import definitions
from privatellm_operator.render.children import build_all
from privatellm_operator.render.instance import InstanceFacts
from privatellm_operator.settings import PublicSettings, Settings
from privatellm_operator.world.watched import CHILDREN

TENANT = "bench"
WARM_UP = "warm-up"
WARM_UP_INSTANCES = 5
"""Written before the clock starts, because an API server's first applies build its schemas."""

SYSTEM = "private-llm-system"
TOKENS = "private-llm-tokens"
WORKERS = 20
"""Orders in flight; the operator's own default for passes at the same time."""

DEADLINE_SECONDS = 900.0
_WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
_SAMPLE = re.compile(r"apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process used.

    Attributes:
        cpu_seconds: Processor time since its start.
        memory_mb: Resident memory now.
        peak_mb: The most it ever was.
    """

    cpu_seconds: float
    memory_mb: float
    peak_mb: float

    @classmethod
    def of(cls, pid: int) -> "Cost":
        """Read what the kernel counted."""
        memory = dict(
            re.findall(r"(VmHWM|VmRSS):\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        )
        return cls(
            cpu_seconds(pid),
            int(memory["VmRSS"]) / 1024,
            int(memory["VmHWM"]) / 1024,
        )


async def furnish(client: KubeClient) -> None:
    """Bring Traefik's kinds, the namespaces and the model, and let the API server warm up."""
    for definition in definitions():
        await client.apply(kinds.CUSTOM_RESOURCE_DEFINITION, definition, field_manager="bench")
    await client.apply(kinds.LLM_MODEL, catalogue_entry(MODEL), field_manager="bench")
    for name in (TENANT, WARM_UP, SYSTEM, TOKENS):
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(kinds.NAMESPACE, manifest)

    async def served() -> bool:
        try:
            await client.list(kinds.MIDDLEWARE)
        except KubernetesError:
            return False
        return True

    await eventually(served, within=60, what="Traefik's kinds")
    await write_directly(client, WARM_UP_INSTANCES, WARM_UP)


async def until_every_ingress(
    client: KubeClient, count: int, act: Callable[[], Awaitable[None]]
) -> float:
    """Return the seconds from the start of ``act`` until a watch has seen so many Ingresses."""
    listing = await client.list(kinds.INGRESS, TENANT)
    started = time.monotonic()
    acting = asyncio.ensure_future(act())
    seen: set[str] = set()
    async with asyncio.timeout(DEADLINE_SECONDS):
        watch = client.watch(
            kinds.INGRESS,
            TENANT,
            resource_version=listing.resource_version,
            timeout_seconds=int(DEADLINE_SECONDS),
        )
        async for event in watch:
            if event.type != "BOOKMARK":
                seen.add(event.object["metadata"]["name"])
            if len(seen) >= count:
                break
    seconds = time.monotonic() - started
    await acting
    assert len(seen) >= count, f"{len(seen)} of {count} Ingresses within {seconds:.0f} s"
    return seconds


async def order_all(client: KubeClient, count: int, *, first: int = 0) -> None:
    """Create so many stopped instances, a few at a time, as impatient customers would."""
    await at_once(_created(client, TENANT, first + number) for number in range(count))


async def order_keys(client: KubeClient, count: int) -> None:
    """Ask for a key for each of the first instances, and wait until all are there."""
    wanted = (token_request(TENANT, f"key-{n:04d}", f"chat-{n:04d}") for n in range(count))
    await at_once(client.create(kinds.API_TOKEN_REQUEST, one) for one in wanted)

    async def ready() -> bool:
        requests = (await client.list(kinds.API_TOKEN_REQUEST, TENANT)).items
        return len([r for r in requests if r.get("status", {}).get("phase") == "Ready"]) == count

    await eventually(ready, within=DEADLINE_SECONDS, what=f"{count} keys")


async def write_directly(
    client: KubeClient, count: int, namespace: str = TENANT, *, first: int = 0
) -> None:
    """Create the instances and everything that belongs to them without an operator."""
    found = await client.get(kinds.LLM_MODEL, MODEL)
    assert found is not None
    model = LLMModel.parse(found)
    settings = Settings(public=PublicSettings(host="llm.example.com"))
    numbers = range(first, first + count)
    await at_once(_written(client, model, settings, namespace, number) for number in numbers)


async def _written(
    client: KubeClient, model: LLMModel, settings: Settings, namespace: str, number: int
) -> None:
    created = await _created(client, namespace, number)
    name = created["metadata"]["name"]
    finalized = await client.patch(
        kinds.LLM_INSTANCE,
        name,
        namespace,
        {"metadata": {"finalizers": [labels.INSTANCE_FINALIZER]}},
    )
    instance = LLMInstance.parse(finalized)
    for child in build_all(InstanceFacts(instance, model, settings, "k" * 64)):
        await client.apply(kinds.kind_of(child), child, field_manager=labels.FIELD_MANAGER)
    status = {
        "apiVersion": kinds.LLM_INSTANCE.api_version,
        "kind": kinds.LLM_INSTANCE.name,
        "metadata": {"name": name, "namespace": namespace},
        "status": _status(instance),
    }
    await client.apply(
        kinds.LLM_INSTANCE, status, field_manager=labels.FIELD_MANAGER, subresource="status"
    )


def _status(instance: LLMInstance) -> Manifest:
    """Return a status as large as the operator's."""
    slug = slug_of(instance.metadata.uid)
    condition = {
        "status": "True",
        "reason": "Programmed",
        "message": "Service, middlewares and Ingress are in place.",
        "lastTransitionTime": "2026-11-30T09:00:00Z",
        "observedGeneration": 1,
    }
    types = ("Accepted", "ModelAvailable", "RouteProgrammed", "Ready")
    return {
        "phase": "Stopped",
        "endpoint": endpoint_of("https", "llm.example.com", slug),
        "slug": slug,
        "replicas": 0,
        "readyReplicas": 0,
        "ready": "0/0",
        "observedGeneration": 1,
        "conditions": [condition | {"type": kind} for kind in types],
    }


async def _created(client: KubeClient, namespace: str, number: int) -> Manifest:
    return await client.create(kinds.LLM_INSTANCE, order(namespace, f"chat-{number:04d}"))


async def at_once(jobs: Iterable[Awaitable[Any]]) -> None:
    """Do all jobs, a few at a time."""
    waiting = iter(jobs)

    async def work() -> None:
        for job in waiting:
            await job

    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(work())


@asynccontextmanager
async def operating(kubeconfig: Path, directory: Path) -> AsyncIterator[RunningOperator]:
    """Run the operator's real process over the whole cluster."""
    variables = environment(
        kubeconfig,
        directory,
        POD_NAMESPACE=SYSTEM,
        PRIVATE_LLM_TOKEN_NAMESPACE=TOKENS,
        PRIVATE_LLM_LOG_LEVEL="warning",
    )
    async with running(variables, directory / "operator.log") as operator:
        yield operator
        await operator.stop()


async def until_equipped(client: KubeClient) -> None:
    """Wait until the shared middlewares exist, so that the operator has nothing left to do."""

    async def there() -> bool:
        return await client.get(kinds.MIDDLEWARE, "private-llm", SYSTEM) is not None

    await eventually(there, within=60, what="the shared middlewares")


async def until_passed(operator: RunningOperator, count: int) -> None:
    """Wait until so many passes over instances ended well and nothing waits."""

    async def idle() -> bool:
        if not await operator.state():
            return False
        done = await operator.metric(
            'private_llm_reconcile_total{kind="LLMInstance",result="success"'
        )
        return done >= count and await operator.metric("private_llm_queue_depth") == 0

    await eventually(idle, within=DEADLINE_SECONDS, what="an operator with nothing to do")


async def until_settled(client: KubeClient, count: int) -> None:
    """Wait until every instance has its status and the Deployments' controller has seen all of them."""

    async def settled() -> bool:
        instances = (await client.list(kinds.LLM_INSTANCE, TENANT)).items
        deployments = (await client.list(kinds.DEPLOYMENT, TENANT)).items
        stopped = [i for i in instances if i.get("status", {}).get("phase") == "Stopped"]
        seen = [d for d in deployments if d.get("status", {}).get("observedGeneration")]
        return len(stopped) == len(seen) == count

    await eventually(settled, within=DEADLINE_SECONDS, what="a settled world")


async def versions(client: KubeClient) -> dict[str, str]:
    """Return the resource version of everything that the operator may write, the Lease left out."""
    listed = (*(w.kind for w in CHILDREN), kinds.LLM_INSTANCE, kinds.LLM_MODEL, kinds.MIDDLEWARE)
    return {
        f"{kind.name} {item['metadata'].get('namespace')}/{item['metadata']['name']}": item[
            "metadata"
        ]["resourceVersion"]
        for kind in listed
        for item in (await client.list(kind)).items
    }


async def writes(client: KubeClient) -> Counter[str]:
    """Return how many writes the API server has served, by resource.

    Leases are left out: the leader renews its own, and the control plane's parts renew theirs.
    """
    found: Counter[str] = Counter()
    async for line in client.lines("/metrics"):
        match = _SAMPLE.match(line.decode())
        if match is None:
            continue
        sample = dict(_LABEL.findall(match["labels"]))
        if sample["verb"] in _WRITES and sample["resource"] != "leases":
            found[sample["resource"]] += int(float(match["value"]))
    return found
