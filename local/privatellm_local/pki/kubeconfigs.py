"""Kubeconfig files: self-contained, so that one can be copied to another place and still works."""

from base64 import b64encode

import yaml

CLUSTER = "private-llm"


def render(*, server: str, user: str, authority: str, certificate: str, key: str) -> str:
    """Return a kubeconfig.

    Args:
        server: URL of the API server.
        user: Name of the user entry; the certificate says who that is to the API server.
        authority: The cluster's authority, in PEM.
        certificate: The user's certificate, in PEM.
        key: The user's private key, in PEM.
    """
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CLUSTER,
                "cluster": {"server": server, "certificate-authority-data": _base64(authority)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _base64(certificate),
                    "client-key-data": _base64(key),
                },
            }
        ],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": user}}],
        "current-context": CLUSTER,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
