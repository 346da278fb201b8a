"""The steps of ``privatellm up``, in order. Each may run again at any time and then changes nothing.

What a step finds out is kept in the :class:`Context` for the steps after it.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any, TypeVar

from privatellm.catalogue import default_directory, load_catalogue
from privatellm.kube import KubeClient
from privatellm_local import (
    cluster_objects,
    demo,
    files,
    freshness,
    host_node,
    listeners,
    machine,
    readiness,
    routes,
    slots,
    state,
)
from privatellm_local.addresses import LOOPBACK, AddressPlan, plan_for
from privatellm_local.availability import KCP_PARTS
from privatellm_local.build import builder
from privatellm_local.build.builder import Programs
from privatellm_local.controlplane import apiserver, controller_manager, etcd, scheduler
from privatellm_local.demo import model as demo_model
from privatellm_local.demo.question import QUESTION
from privatellm_local.edge import component as edge_component
from privatellm_local.edge import configuration as edge_configuration
from privatellm_local.edge import program as edge_program
from privatellm_local.errors import AddressError, StartError
from privatellm_local.paths import CachePaths, StatePaths
from privatellm_local.pki import inventory, store
from privatellm_local.platform import install
from privatellm_local.platform.facts import SYSTEM_NAMESPACE, PlatformFacts
from privatellm_local.platform.sync_agent import sync_agent
from privatellm_local.processes import control, specification, status
from privatellm_local.processes.specification import ComponentSpec
from privatellm_local.processes.status import SupervisorStatus
from privatellm_local.progress import Progress
from privatellm_local.state import EnvironmentState
from privatellm_local.workspaces import components, parties, publishing
from privatellm_local.workspaces import names as workspaces

T = TypeVar("T")

PLATFORM_SECONDS = 120.0
"""How long operator and ForwardAuth service may take to become available."""

ROUTES_SECONDS = 60.0
"""How long operator and edge may take until every route is back; the operator looks every ten seconds."""

DEMO_SECONDS = 180.0
"""How long the demo's instance may take: copying, checking and loading 253 MB on a busy machine."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    paths: StatePaths
    cache: CachePaths
    edge_port: int | None = None
    demo: bool = True
    platform: bool = True
    """Without it there are a cluster, an edge and a node, for an installation by other means."""
    kcp: bool = False
    """With workspaces: a kcp, the sync agent, and a customer's workspace that is bound to our export."""

    attached: bool = False
    """The environment shall end with this process."""


class Context:
    """What the steps know so far."""

    def __init__(self, options: Options, progress: Progress) -> None:
        self.options = options
        self.paths = options.paths
        self.progress = progress
        self.supervisor: SupervisorStatus | None = status.read_living(options.paths)
        self.has_started_supervisor = False
        self.has_cluster = False
        self.edge_definitions = ""
        self.models: tuple[dict[str, Any], ...] = ()
        self.answer: str | None = None
        self.demo_ended: demo.Ended | None = None
        self._state: EnvironmentState | None = None
        self._programs: Programs | None = None

    @property
    def plan(self) -> AddressPlan:
        """The environment's addresses; known after the step that chooses them."""
        return _known(self._state).addresses

    @property
    def programs(self) -> Programs:
        """The control plane's programs; known after the step that builds them."""
        return _known(self._programs)

    def remember(self, chosen: EnvironmentState) -> None:
        """Store the chosen addresses."""
        state.save(self.paths, chosen)
        self._state = chosen

    def use(self, programs: Programs) -> None:
        """Note where the programs are."""
        self._programs = programs

    def client(self) -> Awaitable[KubeClient]:
        """Return a client with all rights; only ``up`` works with it."""
        return KubeClient.connect(self.paths.kubeconfig(inventory.BOOTSTRAP.name))


@dataclass(frozen=True, slots=True)
class Step:
    """One named step; the function returns an outcome worth reading, or nothing."""

    name: str
    run: Callable[[Context], Awaitable[str]]


async def check_machine(context: Context) -> str:
    """Refuse machines that cannot run the environment, before anything is written."""
    machine.require_openmp()
    if context.supervisor is None:
        more = components.MEMORY_BYTES if context.options.kcp else 0
        machine.require_memory(machine.RUN_MEMORY_BYTES + more, "The environment")
        machine.require_disk(context.paths.root, machine.RUN_DISK_BYTES, "The environment")
    return ""


async def choose_addresses(context: Context) -> str:
    """Choose addresses at first creation; later make sure that they are still ours."""
    # The cache first: what fails here must not leave half a state directory behind. The state next:
    # whatever fails from here on leaves a directory that is known to be ours.
    context.options.cache.create()
    existing = state.load(context.paths)
    if existing is None:
        _claim(context)
    else:
        wanted, is_running = context.options.edge_port, context.supervisor is not None
        kept = with_edge_port(existing, wanted, is_running=is_running)
        context.remember(kept.model_copy(update={"kcp": context.options.kcp}))
    context.paths.create()
    if context.supervisor is None:
        _require_free(context)
    return f"edge {context.plan.edge_url}"


async def provide_programs(context: Context) -> str:
    """Find or build the control plane's programs."""
    programs = await builder.ensure_programs(context.options.cache, context.progress)
    context.use(programs)
    # Those that we built have a directory each, below one that they share.
    return str(os.path.commonpath([program.parent for program in astuple(programs)]))


async def make_certificates(context: Context) -> str:
    """Make what is missing and renew what ends soon, unless processes are using it now."""
    if context.supervisor is not None:
        return ""
    made = store.ensure(context.paths, context.plan, datetime.now(UTC))
    return f"{made} new" if made else ""


async def start_control_plane(context: Context) -> str:
    """Start etcd and Kubernetes, and wait until they answer."""
    files.write_if_changed(
        scheduler.configuration_file(context.paths), scheduler.configuration(context.paths)
    )
    if context.supervisor is None:
        specification.write(context.paths.components_file, control_plane(context))
        attached = context.options.attached
        # Noted before it starts, so that an interruption in that moment stops it too.
        context.has_started_supervisor = True
        context.supervisor = await control.start(context.paths, attached=attached)
        await _settle(context, control_plane(context))
    return context.plan.apiserver_url


async def prepare_cluster(context: Context) -> str:
    """Bring in rights, classes and Traefik's definitions."""
    async with await context.client() as client:
        context.edge_definitions = await cluster_objects.apply(client)
    return ""


async def start_edge_and_node(context: Context) -> str:
    """Start Traefik and the host node beside the control plane."""
    paths, plan, cache = context.paths, context.plan, context.options.cache
    files.write_if_changed(
        host_node.configuration_file(paths), host_node.configuration(paths, cache, plan)
    )
    await _settle(
        context,
        (
            *control_plane(context),
            _edge(context),
            host_node.component(paths, cache, plan),
            *_kcp_components(context),
        ),
    )
    context.has_cluster = True
    return plan.edge_url


async def renew_edge(context: Context) -> str:
    """Start Traefik again when a definition that it watches is another one than at its start."""
    wanted, _ = specification.read(context.paths.components_file)
    edge = _edge(context)
    await _settle(context, tuple(edge if spec.name == edge.name else spec for spec in wanted))
    return ""


async def collect_models(context: Context) -> str:
    """Read the default catalogue, and add the demo's model where its weights are installed."""
    models = load_catalogue(default_directory())
    if context.options.demo or find_spec(demo_model.PACKAGE):
        file = await demo.prepare_model(context.options.cache.models, context.progress.update)
        models = (*models, demo.model_manifest(file))
    context.models = models
    return f"{len(models)} in the catalogue"


async def install_platform(context: Context) -> str:
    """Install operator and ForwardAuth service, and wait until they are available."""
    facts = platform_facts(context.plan, context.models)
    async with await context.client() as client:
        await install.install_platform(client, facts, context.progress.update)
        await install.wait_until_available(client, PLATFORM_SECONDS, context.progress.update)
        await _wait_until_fresh(context, client)
    return ""


async def restore_routes(context: Context) -> str:
    """Wait until the edge knows every instance again; one that it never knows is told and no error."""
    missing = ""

    def waiting_for(endpoints: str) -> None:
        nonlocal missing
        missing = endpoints
        context.progress.update(f"waiting for the edge to know {endpoints}")

    async with await context.client() as client:
        try:
            async with asyncio.timeout(ROUTES_SECONDS):
                await routes.wait_until_routed(client, waiting_for)
        except TimeoutError:
            return f"the edge does not know {missing}"
    return ""


async def offer_in_workspaces(context: Context) -> str:
    """Export our API in kcp, run the sync agent, and bind a customer's workspace."""
    paths, progress = context.paths, context.progress
    async with (
        await KubeClient.connect(paths.kubeconfig(workspaces.ADMIN_KUBECONFIG)) as root,
        await context.client() as client,
    ):
        progress.update("a provider's workspace with the export")
        await parties.provide(root)
        progress.update("sync agent")
        published = await publishing.generate(paths)
        kubeconfig = components.agent_kubeconfig(paths, context.plan)
        manifests = sync_agent(workspaces.EXPORT, kubeconfig, published.resources)
        await install.install_sync_agent(client, published.definition, manifests)
        await install.wait_until_available(client, PLATFORM_SECONDS, progress.update, KCP_PARTS)
        await _wait_until_fresh(context, client)
        progress.update("a customer's workspace that is bound to it")
        await parties.bind(root)
    return str(paths.kubeconfig(workspaces.CUSTOMER_KUBECONFIG))


async def run_demo(context: Context) -> str:
    """Order a private LLM as a customer does, and ask it a question through the edge."""
    progress = context.progress
    kubeconfig = context.paths.kubeconfig(inventory.ADMIN.name)
    async with await KubeClient.connect(kubeconfig) as client:
        credentials = await demo.order_demo(client, progress.update, DEMO_SECONDS)
    if isinstance(credentials, demo.Ended):
        context.demo_ended = credentials
        return "ended by its user"
    progress.update("asking the model a question")
    context.answer = await demo.ask(credentials, QUESTION)
    return ""


CLUSTER_STEPS = (
    Step("checks", check_machine),
    Step("addresses", choose_addresses),
    Step("programs", provide_programs),
    Step("certificates", make_certificates),
    Step("control plane", start_control_plane),
    Step("cluster objects", prepare_cluster),
    Step("edge and host node", start_edge_and_node),
)

PLATFORM_STEPS = (
    Step("models", collect_models),
    Step("platform", install_platform),
)

REPAIR_STEPS = (
    Step("addresses", choose_addresses),
    Step("cluster objects", prepare_cluster),
    Step("edge", renew_edge),
)

ROUTE_STEPS = (Step("routes", restore_routes),)

KCP_STEPS = (Step("workspaces", offer_in_workspaces),)

DEMO_STEPS = (Step("demo", run_demo),)


def steps_for(options: Options, *, is_complete: bool = False) -> tuple[Step, ...]:
    """Return the steps that bring up what the user asked for; a demo needs the platform.

    Args:
        options: What the user asked for.
        is_complete: Everything was set up and every process is well. What is in the cluster is brought
            back all the same, because anybody with a kubeconfig may have changed it; so is the demo.
    """
    cluster = REPAIR_STEPS if is_complete else CLUSTER_STEPS
    if not options.platform:
        return cluster
    demonstration = DEMO_STEPS if options.demo else ()
    # At a start the models have yet to be loaded; that takes its time and is not waited for.
    repair = ROUTE_STEPS if is_complete else ()
    workspaces_too = KCP_STEPS if options.kcp else ()
    return (*cluster, *PLATFORM_STEPS, *repair, *workspaces_too, *demonstration)


def control_plane(context: Context) -> tuple[ComponentSpec, ...]:
    """Return the components that everything else needs."""
    paths, plan, programs = context.paths, context.plan, context.programs
    return (
        etcd.component(paths, plan, programs.etcd),
        apiserver.component(paths, plan, programs.apiserver),
        controller_manager.component(paths, plan, programs.controller_manager),
        scheduler.component(paths, plan, programs.scheduler),
    )


def _edge(context: Context) -> ComponentSpec:
    paths, plan = context.paths, context.plan
    file = edge_component.configuration_file(paths)
    files.write_if_changed(file, edge_configuration.render(plan))
    return edge_component.component(paths, plan, edge_program.find(), context.edge_definitions)


def _kcp_components(context: Context) -> tuple[ComponentSpec, ...]:
    if not context.options.kcp:
        return ()
    return components.components(context.paths, context.plan, context.programs.apiserver)


def platform_facts(plan: AddressPlan, models: tuple[dict[str, Any], ...]) -> PlatformFacts:
    """Return what our manifests depend on."""
    return PlatformFacts(
        public_host=f"{LOOPBACK}:{plan.edge}",
        auth_address=plan.authserver_service,
        ingress_class=edge_configuration.INGRESS_CLASS,
        entry_points=(edge_configuration.ENTRY_POINT,),
        models=models,
    )


def with_edge_port(
    existing: EnvironmentState, wanted: int | None, *, is_running: bool
) -> EnvironmentState:
    """Return the state with the edge port that the user wants.

    Raises:
        AddressError: when the environment runs on another one.
    """
    if wanted is None or wanted == existing.edge_port:
        return existing
    if is_running:
        raise AddressError(
            f"The environment runs with edge port {existing.edge_port}, not {wanted}: stop it with "
            "`privatellm down` before you change the port."
        )
    return existing.model_copy(update={"edge_port": wanted})


async def _wait_until_fresh(context: Context, client: KubeClient) -> None:
    since = _known(context.supervisor).started_at
    missing = ""

    def waiting_for(pods: str) -> None:
        nonlocal missing
        missing = pods
        context.progress.update(f"waiting for {pods}")

    try:
        async with asyncio.timeout(PLATFORM_SECONDS):
            await freshness.wait_until_fresh(client, SYSTEM_NAMESPACE, since, waiting_for)
    except TimeoutError as error:
        raise StartError(
            f"{missing} did not become ready within {PLATFORM_SECONDS:.0f} s: look with "
            f"`kubectl -n {SYSTEM_NAMESPACE} describe pods`."
        ) from error


async def _settle(context: Context, components: tuple[ComponentSpec, ...]) -> None:
    generation = specification.write(context.paths.components_file, components)
    control.reload(_known(context.supervisor))
    context.supervisor = await readiness.wait_until_ready(
        context.paths, generation, context.progress
    )


def _claim(context: Context) -> None:
    edge_port = context.options.edge_port

    def remember(slot: int) -> None:
        addresses = plan_for(slot, edge_port)
        context.remember(
            EnvironmentState(
                slot=slot,
                edge_port=addresses.edge,
                created_at=datetime.now(UTC),
                kcp=context.options.kcp,
            )
        )

    slots.claim(context.options.cache, context.paths, remember, with_edge=edge_port is None)


def _require_free(context: Context) -> None:
    """Refuse to start where somebody listens; of a copied directory that is mostly its original."""
    try:
        listeners.require_free(context.plan)
    except AddressError as error:
        original = slots.other_owner(context.options.cache, context.paths, context.plan.slot)
        if original is None or status.read_living(original) is None:
            raise
        raise AddressError(
            f"{context.paths.root} has the addresses of the environment in {original.root}, which runs: "
            "one is a copy of the other. Stop that one with `privatellm down --state "
            f"{original.root}`, or make a new environment elsewhere with --state DIR."
        ) from error


def _known(value: T | None) -> T:
    if value is None:
        raise RuntimeError("a step ran before the one that it needs")
    return value
