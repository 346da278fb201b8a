"""Kubeconfig files: self-contained, so that one can be copied to another place and still works."""

from base64 import b64encode

import yaml

CLUSTER = "private-llm"


def render(*, server: str, user: str, authority: str, certificate: str, key: str) -> str:
    """Return a kubeconfig whose user is known by a certificate.

    Args:
        server: URL of the API server.
        user: Name of the user entry; the certificate says who that is to the API server.
        authority: The cluster's authority, in PEM.
        certificate: The user's certificate, in PEM.
        key: The user's private key, in PEM.
    """
    proof = {"client-certificate-data": _base64(certificate), "client-key-data": _base64(key)}
    return _document(server, authority, user, proof)


def render_with_token(*, server: str, user: str, authority: str, token: str) -> str:
    """Return a kubeconfig whose user is known by a bearer token.

    Args:
        server: URL of the API server, with the path of a workspace where it has them.
        user: Name of the user entry.
        authority: The authority of the server's certificate, in PEM.
        token: The token.
    """
    return _document(server, authority, user, {"token": token})


def _document(server: str, authority: str, user: str, proof: dict[str, str]) -> str:
    cluster = {"server": server, "certificate-authority-data": _base64(authority)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": cluster}],
        "users": [{"name": user, "user": proof}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": user}}],
        "current-context": CLUSTER,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
