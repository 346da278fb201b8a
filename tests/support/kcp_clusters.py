"""Two bare API servers on one etcd: one behind the kcp double, one as the service cluster.

Neither has controllers, so whatever works here needs none. With ``PRIVATE_LLM_TEST_KCP_SERVERS`` set to two
kubeconfigs joined by a colon, those running servers are used and left running.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bare_servers import administrator, apiserver_arguments, etcd_arguments, free_ports, process
from eventually import eventually
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient
from privatellm_local.build.builder import Programs, ensure_programs
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Servers:
    """Administrators' kubeconfigs of two API servers."""

    behind_kcp: Path
    service: Path


@contextmanager
def servers(directory: Path) -> Iterator[Servers]:
    """Run two API servers that share nothing but an etcd process."""
    if given := os.environ.get("PRIVATE_LLM_TEST_KCP_SERVERS"):
        yield Servers(*(Path(part) for part in given.split(":")))
        return
    with running(directory, "kcp", "service") as (behind_kcp, service):
        yield Servers(behind_kcp, service)


@contextmanager
def running(directory: Path, *names: str) -> Iterator[tuple[Path, ...]]:
    """Run one etcd and an API server for each name, and yield their kubeconfigs."""
    paths = cache_paths()
    paths.create()
    programs = asyncio.run(ensure_programs(paths, SilentProgress()))
    with ExitStack() as stack:
        etcd, peer, *ports = free_ports(2 + len(names))
        command = [str(programs.etcd), *etcd_arguments(directory, etcd, peer)]
        stack.enter_context(process(command, directory / "etcd.log"))
        for name, port in zip(names, ports, strict=True):
            (directory / name).mkdir()
            command = _apiserver(directory / name, programs, etcd, port)
            stack.enter_context(process(command, directory / name / "log"))
        found = tuple(directory / name / "kubeconfig" for name in names)
        asyncio.run(_ready(found))
        yield found


async def _ready(kubeconfigs: tuple[Path, ...]) -> None:
    for kubeconfig in kubeconfigs:
        async with await KubeClient.connect(kubeconfig) as client:

            async def answers(asked: KubeClient = client) -> bool:
                try:
                    await asked.request("GET", "/api/v1/namespaces/default")
                except KubernetesError:
                    return False
                return True

            await eventually(answers, within=START_SECONDS, what="an API server")


def _apiserver(directory: Path, programs: Programs, etcd: int, port: int) -> list[str]:
    administrator(directory, port)
    return [
        str(programs.apiserver),
        *apiserver_arguments(directory, etcd, port),
        f"--etcd-prefix=/{directory.name}",
        "--disable-admission-plugins=ServiceAccount",
    ]
