"""A bare control plane: etcd, kube-apiserver, a few controllers, no operator.

The embedded environment runs the operator, which would repair what some tests break on purpose. Here
nothing acts but the test and the controllers that it asked for. With
``PRIVATE_LLM_TEST_API_SERVER`` set to a kubeconfig, that running cluster is used and left running.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bare_servers import administrator, apiserver_arguments, etcd_arguments, free_ports, process
from eventually import eventually
from privatellm.api import crds
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient, kinds
from privatellm_local.build.builder import Programs, ensure_programs
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

FEW_CONTROLLERS = "garbage-collector-controller,namespace-controller,resourcequota-controller"
"""What tests of single passes need; nothing else interferes with what they break."""

ALL_CONTROLLERS = (
    "*,-endpointslice-controller,-endpoints-controller,-endpointslice-mirroring-controller"
)
"""As in the embedded environment: slices refuse addresses on loopback."""

START_SECONDS = 60.0


@contextmanager
def control_plane(directory: Path, *, controllers: str = FEW_CONTROLLERS) -> Iterator[Path]:
    """Run a control plane with our CRDs and yield the administrator's kubeconfig.

    Args:
        directory: Where its state and its logs go.
        controllers: The controller manager's ``--controllers``.
    """
    if running := os.environ.get("PRIVATE_LLM_TEST_API_SERVER"):
        asyncio.run(_define_kinds(Path(running)))
        yield Path(running)
        return
    paths = cache_paths()
    paths.create()
    programs = asyncio.run(ensure_programs(paths, SilentProgress()))
    with ExitStack() as stack:
        yield _start(stack, directory, programs, controllers)


def _start(stack: ExitStack, directory: Path, programs: Programs, controllers: str) -> Path:
    etcd, peer, api, manager = free_ports(4)
    kubeconfig = administrator(directory, api)
    commands: Mapping[str, list[str]] = {
        "etcd": [str(programs.etcd), *etcd_arguments(directory, etcd, peer)],
        "kube-apiserver": [str(programs.apiserver), *apiserver_arguments(directory, etcd, api)],
        "kube-controller-manager": [
            str(programs.controller_manager),
            *_controller_manager(directory, kubeconfig, manager, controllers),
        ],
    }
    for name, command in commands.items():
        stack.enter_context(process(command, directory / f"{name}.log"))
        if name == "kube-apiserver":
            asyncio.run(_define_kinds(kubeconfig))
    return kubeconfig


def _controller_manager(
    directory: Path, kubeconfig: Path, port: int, controllers: str
) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--controllers={controllers}",
        # Its default of 20 requests a second needs minutes for what a test does at once.
        "--kube-api-qps=300",
        "--kube-api-burst=600",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={directory / 'controller-certs'}",
        "--authentication-skip-lookup",
    ]


async def _define_kinds(kubeconfig: Path) -> None:
    """Install our CRDs as soon as the API server answers, and wait until they are served."""
    async with await KubeClient.connect(kubeconfig) as client:

        async def defined() -> bool:
            try:
                for crd in crds.all_crds():
                    await client.apply(kinds.CUSTOM_RESOURCE_DEFINITION, crd, field_manager="tests")
                for kind in (kinds.LLM_INSTANCE, kinds.API_TOKEN_REQUEST):
                    await client.list(kind)
            except KubernetesError:
                return False
            return True

        await eventually(defined, within=START_SECONDS, what="an API server with our kinds")
