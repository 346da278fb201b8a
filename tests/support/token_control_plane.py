"""A bare control plane: etcd, kube-apiserver, a few controllers, no operator.

The embedded environment runs the operator, which would repair what some tests break on purpose. Here
nothing acts but the test and the controllers that it asked for. With
``PRIVATE_LLM_TEST_API_SERVER`` set to a kubeconfig, that running cluster is used and left running.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from socket import AF_INET, SOCK_STREAM, socket

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

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
STOP_SECONDS = 10.0


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
    etcd, peer, api, manager = _free_ports(4)
    token = token_hex(16)
    (directory / "tokens.csv").write_text(f'{token},admin,1,"system:masters"\n')
    (directory / "sa.key").write_bytes(_private_key())
    kubeconfig = write_kubeconfig(directory / "kubeconfig", f"https://127.0.0.1:{api}", token)
    commands: Mapping[str, list[str]] = {
        "etcd": [str(programs.etcd), *_etcd(directory, etcd, peer)],
        "kube-apiserver": [str(programs.apiserver), *_apiserver(directory, etcd, api)],
        "kube-controller-manager": [
            str(programs.controller_manager),
            *_controller_manager(directory, kubeconfig, manager, controllers),
        ],
    }
    for name, command in commands.items():
        stack.enter_context(_process(command, directory / f"{name}.log"))
        if name == "kube-apiserver":
            asyncio.run(_define_kinds(kubeconfig))
    return kubeconfig


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


def _apiserver(directory: Path, etcd: int, port: int) -> list[str]:
    key = directory / "sa.key"
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}",
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
    ]


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


def _private_key() -> bytes:
    """Return a key for service-account tokens, which nobody asks for here."""
    return generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )


def write_kubeconfig(path: Path, server: str, token: str) -> Path:
    """Write a kubeconfig; the server's certificate is its own, and it is on loopback."""
    cluster = {"server": server, "insecure-skip-tls-verify": True}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(content))
    return path


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


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as child:
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
