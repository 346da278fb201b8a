"""etcd and kube-apiserver as plain processes: what every control plane of a test is started from.

What runs beside them (controllers, a second API server, nothing at all) is the caller's choice.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from socket import AF_INET, SOCK_STREAM, socket

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

STOP_SECONDS = 10.0


@contextmanager
def process(command: list[str], log: Path) -> Iterator[None]:
    """Run a program for the length of the block; it is asked to end before it is made to."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as child:
        try:
            yield
        finally:
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()


def free_ports(count: int) -> list[int]:
    """Return different ports of 127.0.0.1 that nobody listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket(AF_INET, SOCK_STREAM)) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    return free_ports(1)[0]


def etcd_arguments(directory: Path, port: int, peer: int) -> list[str]:
    """Return the arguments of an etcd that keeps its data below ``directory``."""
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


def apiserver_arguments(directory: Path, etcd: int, port: int) -> list[str]:
    """Return the arguments of an API server whose administrator :func:`administrator` made."""
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


def administrator(directory: Path, port: int) -> Path:
    """Write what an API server on ``port`` needs to know its administrator, and return the kubeconfig."""
    token = token_hex(16)
    (directory / "tokens.csv").write_text(f'{token},admin,1,"system:masters"\n')
    (directory / "sa.key").write_bytes(_private_key())
    return write_kubeconfig(directory / "kubeconfig", f"https://127.0.0.1:{port}", token)


def write_kubeconfig(path: Path, server: str, token: str) -> Path:
    """Write a kubeconfig; the server's certificate is its own, and it is on loopback."""
    cluster = {"server": server, "insecure-skip-tls-verify": True}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(content))
    return path


def _private_key() -> bytes:
    """Return a key for service-account tokens."""
    return generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
