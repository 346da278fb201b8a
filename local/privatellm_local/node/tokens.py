"""Service-account tokens bound to a pod, and the kubeconfig that points at one.

The in-cluster path of the client libraries is hard-coded and needs root to exist, so a pod is given a
kubeconfig with a ``tokenFile`` instead. Tokens are asked for again when a fifth of their life is left.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from privatellm.kube import KubeClient
from privatellm.kube.kinds import SERVICE_ACCOUNT
from privatellm_local.node.pod import Pod, TokenSource

_REFRESH_AT = 0.8
"""Part of a token's life after which a new one is asked for; a kubelet uses the same."""


@dataclass(frozen=True, slots=True)
class _Issued:
    token: str
    refresh_at: datetime


class TokenStore:
    """Keeps each pod's tokens until they are due for renewal; they are never written here."""

    def __init__(self, client: KubeClient, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._clock = clock
        self._issued: dict[tuple[str, TokenSource], _Issued] = {}

    async def get(self, pod: Pod, source: TokenSource) -> str:
        """Return a token for the pod's service account that is good for a while.

        Raises:
            KubernetesError: when the API server does not issue one.
        """
        key = (pod.metadata.uid, source)
        issued = self._issued.get(key)
        if issued is None or self._clock() >= issued.refresh_at:
            issued = self._issued[key] = await self._request(pod, source)
        return issued.token

    def forget(self, pod_uid: str) -> None:
        """Drop the tokens of a pod that is gone."""
        self._issued = {key: value for key, value in self._issued.items() if key[0] != pod_uid}

    async def _request(self, pod: Pod, source: TokenSource) -> _Issued:
        metadata = pod.metadata
        account = pod.spec.service_account_name
        answer = await self._client.request(
            "POST",
            SERVICE_ACCOUNT.path(metadata.namespace, account, "token"),
            body=_token_request(pod, source),
        )
        life = timedelta(seconds=source.expiration_seconds * _REFRESH_AT)
        return _Issued(answer["status"]["token"], self._clock() + life)


def _token_request(pod: Pod, source: TokenSource) -> dict[str, object]:
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {
            "audiences": [source.audience] if source.audience else [],
            "expirationSeconds": source.expiration_seconds,
            "boundObjectRef": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.metadata.name,
                "uid": pod.metadata.uid,
            },
        },
    }


def kubeconfig(server: str, ca_file: Path, token_file: Path, namespace: str) -> bytes:
    """Return a kubeconfig that holds no secret, only the name of the file with the token."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "cluster",
                "cluster": {"server": server, "certificate-authority": str(ca_file)},
            }
        ],
        "users": [{"name": "pod", "user": {"tokenFile": str(token_file)}}],
        "contexts": [
            {
                "name": "pod",
                "context": {"cluster": "cluster", "user": "pod", "namespace": namespace},
            }
        ],
        "current-context": "pod",
    }
    return json.dumps(document, indent=2).encode()
