"""kro under test: the pinned controller on a control plane with its own definitions and its neighbours'."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

import ocm_definitions
from bare_servers import free_ports, process, write_kubeconfig
from eventually import eventually
from privatellm.kube import KubeClient, kinds
from privatellm.kube.kinds import Kind
from privatellm_local.build import toolchain
from privatellm_local.build.builder import ensure_built
from privatellm_local.build.programs import KRO
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

Manifest = dict[str, Any]

GRAPH = Kind(
    "kro.run",
    "v1alpha1",
    "ResourceGraphDefinition",
    "resourcegraphdefinitions",
    namespaced=False,
)
INSTALLATION = Kind("kro.run", "v1alpha1", "PrivateLLMInstallation", "privatellminstallations")

AGGREGATED = "rbac.kro.run/aggregate-to-controller"
"""Label of roles whose rules kro takes up."""

GRAPH_FILE = Path(__file__).parents[2] / "ocm" / "rgd.yaml"
TOKEN_REQUEST = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
MODULE = "github.com/kubernetes-sigs/kro"
START_SECONDS = 60.0


def _rule(group: str, resource: str, *verbs: str) -> Manifest:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]
OWN_RULES: list[Manifest] = [
    _rule("kro.run", "resourcegraphdefinitions", *ALL),
    _rule("kro.run", "resourcegraphdefinitions/finalizers", "update"),
    _rule("kro.run", "resourcegraphdefinitions/status", "get", "patch", "update"),
    _rule("internal.kro.run", "graphrevisions", *ALL),
    _rule("internal.kro.run", "graphrevisions/finalizers", "update"),
    _rule("internal.kro.run", "graphrevisions/status", "get", "patch", "update"),
    _rule(
        "apiextensions.k8s.io", "customresourcedefinitions", "create", "get", "list", "patch",
        "update", "watch",
    ),
]  # fmt: skip
"""What kro's own chart grants it with ``rbac.mode=aggregation``."""


@contextmanager
def kro(directory: Path, administrator: Path, rules: Sequence[Manifest]) -> Iterator[None]:
    """Run kro on a cluster for the length of the block, with the definitions and the rights it needs.

    Args:
        directory: Where its log and its credentials go.
        administrator: The kubeconfig of the cluster's administrator.
        rules: Rights beside those that its own chart grants.
    """
    paths = cache_paths()
    paths.create()
    (program,) = asyncio.run(ensure_built((KRO,), paths, SilentProgress()))
    asyncio.run(_define(administrator, (*_own_definitions(), *ocm_definitions.definitions())))
    kubeconfig = asyncio.run(_account(administrator, directory, [*OWN_RULES, *rules]))
    metrics, probes = free_ports(2)
    arguments = [
        f"-kubeconfig={kubeconfig}",
        f"-metrics-bind-address=127.0.0.1:{metrics}",
        f"-health-probe-bind-address=127.0.0.1:{probes}",
        # The defaults are made for clusters, and a test waits for them.
        "-instance-requeue-interval=500ms",
        "-rgd-progress-requeue-delay=200ms",
    ]
    with process([str(program), *arguments], directory / "kro.log"):
        asyncio.run(_until_up(probes))
        yield


async def _account(administrator: Path, directory: Path, rules: Sequence[Manifest]) -> Path:
    """Make a service account with some rights and return its kubeconfig."""
    group = kinds.CLUSTER_ROLE.group
    account = {"name": "kro", "namespace": "default"}
    role = {
        "apiVersion": kinds.CLUSTER_ROLE.api_version,
        "kind": "ClusterRole",
        "metadata": {"name": "kro"},
        "rules": list(rules),
    }
    binding = {
        "apiVersion": kinds.CLUSTER_ROLE_BINDING.api_version,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kro"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "kro"},
        "subjects": [{"kind": "ServiceAccount", **account}],
    }
    async with await KubeClient.connect(administrator) as client:
        await client.create(
            kinds.SERVICE_ACCOUNT,
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        )
        await client.create(kinds.CLUSTER_ROLE, role)
        await client.create(kinds.CLUSTER_ROLE_BINDING, binding)
        path = kinds.SERVICE_ACCOUNT.path("default", "kro", "token")
        answer = await client.request("POST", path, body=TOKEN_REQUEST)
        token = answer["status"]["token"]
        return write_kubeconfig(directory / "kro.kubeconfig", client.server, token)


def _own_definitions() -> tuple[Manifest, ...]:
    """Return the definitions that the module carries beside the program."""
    directory = _module_directory() / "helm" / "crds"
    return tuple(yaml.safe_load(path.read_text()) for path in sorted(directory.glob("*.yaml")))


def _module_directory() -> Path:
    chain = toolchain.find()
    answer = subprocess.run(
        [str(chain.go), "mod", "download", "-json", MODULE],
        cwd=KRO.directory,
        env=toolchain.environment(chain, cache_paths(), os.environ),
        capture_output=True,
        check=True,
        text=True,
    )
    return Path(json.loads(answer.stdout)["Dir"])


async def _define(kubeconfig: Path, definitions: tuple[Manifest, ...]) -> None:
    async with await KubeClient.connect(kubeconfig) as client:
        for definition in definitions:
            await client.apply(kinds.CUSTOM_RESOURCE_DEFINITION, definition, field_manager="tests")

        async def served() -> bool:
            found = (await client.list(kinds.CUSTOM_RESOURCE_DEFINITION)).items
            return all(_is_established(definition) for definition in found)

        await eventually(served, what="the definitions")


def _is_established(definition: Manifest) -> bool:
    # A definition of this second has `null` there.
    conditions = definition.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


async def _until_up(port: int) -> None:
    async with httpx.AsyncClient() as http:

        async def answers() -> bool:
            try:
                return (await http.get(f"http://127.0.0.1:{port}/readyz")).is_success
            except httpx.TransportError:
                return False

        await eventually(answers, within=START_SECONDS, what="kro")


def our_graph() -> Manifest:
    """Return the ResourceGraphDefinition of this repository."""
    graph: Manifest = yaml.safe_load(GRAPH_FILE.read_text())
    return graph


async def accepted(client: KubeClient, graph: Manifest) -> str:
    """Give kro a graph, wait until it serves the graph's kind, and return the graph's name."""
    name: str = graph["metadata"]["name"]
    await client.apply(GRAPH, graph, field_manager="tests")

    async def active() -> bool:
        found = await client.get(GRAPH, name)
        status = (found or {}).get("status", {})
        complaints = [c.get("message") for c in status.get("conditions", [])]
        assert status.get("state") == "Active", complaints
        return True

    await eventually(active, what=f"the graph {name}")
    return name


async def refused(client: KubeClient, graph: Manifest) -> str:
    """Give kro a graph that is wrong, wait until it says so, and return what it says."""
    name: str = graph["metadata"]["name"]
    await client.apply(GRAPH, graph, field_manager="tests")

    async def complaint() -> str:
        found = await client.get(GRAPH, name)
        conditions = (found or {}).get("status", {}).get("conditions", [])
        wrong = [c for c in conditions if c["type"] == "GraphAccepted" and c["status"] == "False"]
        return wrong[0]["message"] if wrong else ""

    try:
        return await eventually(complaint, what=f"a refusal of {name}")
    finally:
        await client.delete(GRAPH, name)
