"""The double's listener: a certificate when it has one, and health for everybody."""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from kcp_clusters import Servers
from kcp_world import ADMIN, create_workspace, running_double
from privatellm.kube import KubeClient
from privatellm.kube.credentials import load_credentials
from privatellm_local.addresses import plan_for
from privatellm_local.kcp.access import Identity, Role, Tokens
from privatellm_local.kcp.config import KcpConfig
from privatellm_local.kcp.kinds import WORKSPACE
from privatellm_local.kcp.server import KcpDouble
from privatellm_local.paths import StatePaths
from privatellm_local.pki import kubeconfigs, store

pytestmark = pytest.mark.deep


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A directory with the certificates of an environment."""
    made = StatePaths(tmp_path / "state")
    made.create()
    store.ensure(made, plan_for(0), datetime.now(UTC))
    return made


async def test_a_double_with_a_certificate_is_used_as_a_kcp_is(
    api_servers: Servers, paths: StatePaths, tmp_path: Path
) -> None:
    """Its URLs say https, and a kubeconfig with the authority and a token is all that a client needs."""
    ca_file = store.certificate_file(paths, "ca")
    config = KcpConfig(
        kubeconfig=api_servers.behind_kcp,
        tokens=(),
        certificate=store.certificate_file(paths, "apiserver"),
        key=store.key_file(paths, "apiserver"),
    )
    tokens = Tokens({ADMIN: Identity("admin", Role.ADMIN)})
    known = await load_credentials(api_servers.behind_kcp)
    async with KcpDouble(known, tokens, tls=config.tls()) as double:
        server = f"{double.url}/clusters/root"
        assert server.startswith("https://127.0.0.1:")
        text = kubeconfigs.render_with_token(
            server=server, user="admin", authority=ca_file.read_text(), token=ADMIN
        )
        (tmp_path / "kubeconfig").write_text(text)
        async with await KubeClient.connect(tmp_path / "kubeconfig") as client:
            await create_workspace(client, "served")
            found = await client.get(WORKSPACE, "served") or {}
            await client.delete(WORKSPACE, "served")
        assert found["spec"]["URL"] == f"{double.url}/clusters/root:served"

        trust = ssl.create_default_context(cafile=ca_file)
        async with aiohttp.ClientSession() as http:
            statuses = {}
            for path in ("/readyz", "/livez", "/clusters/root/api/v1/secrets"):
                async with http.get(f"{double.url}{path}", ssl=trust) as answer:
                    statuses[path] = answer.status
        assert statuses == {"/readyz": 200, "/livez": 200, "/clusters/root/api/v1/secrets": 401}


@pytest.mark.parametrize(
    ("content_type", "body", "status", "said"),
    [
        ("application/vnd.kubernetes.protobuf", b"k8s\x00\x01", 415, "JSON and YAML"),
        ("application/json", b"{", 400, "cannot be read"),
        ("application/json", b"\xff", 400, "cannot be read"),
    ],
)
async def test_what_cannot_be_read_is_refused_in_words(
    api_servers: Servers, content_type: str, body: bytes, status: int, said: str
) -> None:
    """`kubectl create secret` speaks protobuf, and must be told what to do instead."""
    async with running_double(api_servers) as double, aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": content_type}
        url = f"{double.url}/clusters/root/api/v1/namespaces/default/secrets"
        async with http.post(url, data=body, headers=headers) as answer:
            refusal = await answer.json()
            assert answer.status == refusal["code"] == status
            assert said in refusal["message"]
