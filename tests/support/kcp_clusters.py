"""Two bare API servers on one etcd: one behind the kcp double, one as the service cluster.

Neither has controllers, so whatever works here needs none. With ``PRIVATE_LLM_TEST_KCP_SERVERS`` set to two
kubeconfigs joined by a colon, those running servers are used and left running.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from socket import AF_INET, SOCK_STREAM, socket

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from eventually import eventually
from privatellm.errors import KubernetesError
from privatellm.kube import KubeClient
from privatellm_local.build.builder import Programs, ensure_programs
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

START_SECONDS = 90.0
STOP_SECONDS = 10.0


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
        etcd, peer, *ports = _free_ports(2 + len(names))
        stack.enter_context(_process([str(programs.etcd), *_etcd(directory, etcd, peer)]))
        for name, port in zip(names, ports, strict=True):
            (directory / name).mkdir()
            command = _apiserver(directory / name, programs, etcd, port)
            stack.enter_context(_process(command, directory / name / "log"))
        found = tuple(directory / name / "kubeconfig" for name in names)
        asyncio.run(_ready(found))
        yield found


def write_kubeconfig(path: Path, server: str, token: str) -> Path:
    """Write a kubeconfig for a server on loopback."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "test", "cluster": {"server": server, "insecure-skip-tls-verify": True}}
        ],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(content))
    return path


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


def _etcd(directory: Path, port: int, peer: int) -> list[str]:
    client_url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    return [
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(directory: Path, programs: Programs, etcd: int, port: int) -> list[str]:
    token, key = token_hex(16), directory / "sa.key"
    (directory / "tokens.csv").write_text(f'{token},admin,1,"system:masters"\n')
    key.write_bytes(
        generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        )
    )
    write_kubeconfig(directory / "kubeconfig", f"https://127.0.0.1:{port}", token)
    return [
        str(programs.apiserver),
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        f"--etcd-prefix=/{directory.name}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--cert-dir={directory / 'certs'}",
        f"--token-auth-file={directory / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=127.120.0.0/16",
        "--endpoint-reconciler-type=none",
        "--disable-admission-plugins=ServiceAccount",
    ]


@contextmanager
def _process(command: list[str], log: Path | None = None) -> Iterator[None]:
    with ExitStack() as stack:
        output = stack.enter_context(log.open("wb")) if log else subprocess.DEVNULL
        child = stack.enter_context(subprocess.Popen(command, stdout=output, stderr=output))
        try:
            yield
        finally:
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket(AF_INET, SOCK_STREAM)) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
