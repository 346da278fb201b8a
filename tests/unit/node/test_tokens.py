import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from node_builders import NOW, pod
from privatellm.kube import KubeClient
from privatellm_local.node.pod import TokenSource
from privatellm_local.node.tokens import TokenStore, kubeconfig


class Issuer:
    """Issues numbered tokens."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def request(self, method: str, path: str, *, body: dict[str, Any]) -> dict[str, Any]:
        """Issue the next token."""
        self.requests.append((f"{method} {path}", body["spec"]))
        return {"status": {"token": f"token-{len(self.requests)}"}}


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        """Return the present time."""
        return self.now


async def test_a_token_is_bound_to_its_pod_and_renewed_before_it_expires() -> None:
    """At four fifths of its life, and not before."""
    issuer, clock = Issuer(), Clock()
    store = TokenStore(cast("KubeClient", issuer), clock)
    source = TokenSource(path="token", audience="vault", expiration_seconds=1000)

    first = await store.get(pod(), source)
    clock.now += timedelta(seconds=799)
    same = await store.get(pod(), source)
    clock.now += timedelta(seconds=1)
    renewed = await store.get(pod(), source)

    assert (first, same, renewed) == ("token-1", "token-1", "token-2")
    action, spec = issuer.requests[0]
    assert action == "POST /api/v1/namespaces/shop/serviceaccounts/default/token"
    assert spec["audiences"] == ["vault"]
    assert spec["expirationSeconds"] == 1000
    assert spec["boundObjectRef"]["uid"] == "uid-1"


async def test_a_pod_that_is_gone_leaves_no_token() -> None:
    """A namesake gets one of its own anyway, because its UID differs."""
    issuer = Issuer()
    store = TokenStore(cast("KubeClient", issuer), Clock())
    source = TokenSource(path="token")

    await store.get(pod(), source)
    store.forget("uid-1")

    assert await store.get(pod(), source) == "token-2"


def test_a_kubeconfig_names_the_file_and_not_the_token() -> None:
    """So that a renewed token is found, and a copied kubeconfig gives nothing away."""
    document = json.loads(kubeconfig("https://127.0.0.1:6443", Path("/v/ca"), Path("/v/t"), "shop"))

    assert document["users"] == [{"name": "pod", "user": {"tokenFile": "/v/t"}}]
    assert document["clusters"][0]["cluster"]["certificate-authority"] == "/v/ca"
    assert document["contexts"][0]["context"]["namespace"] == "shop"
