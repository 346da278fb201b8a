"""What a pass may look at: workspaces behind endpoints, and who uses what."""

from kubernetes.aio.client import Configuration

from privatellm.kube import KubeClient
from privatellm.kube.credentials import Credentials
from privatellm.kube.kinds import SECRET
from privatellm_sync_agent.engine.world import Endpoint, Uses
from privatellm_sync_agent.naming.names import Identity


async def test_urls_of_workspaces_are_put_together_in_one_way() -> None:
    """MP#61: ``/clusters/`` is there once, whether an endpoint's URL ends in a slash or not."""
    url = "https://shard.example:6443/services/apiexport/c1/export"
    async with KubeClient(Credentials(None, Configuration(host="http://kcp.example"))) as kcp:
        for end in ("", "/"):
            endpoint = Endpoint(f"{url}{end}", kcp)
            assert endpoint.wildcard().server == f"{url}/clusters/*"
            assert endpoint.workspace("c2").server == f"{url}/clusters/c2"


def test_what_an_object_used_is_known_until_it_uses_something_else() -> None:
    """Nothing recorded yet is something else than nothing used: then one must look."""
    uses, user = Uses(), Identity("c1", "default", "x")
    assert uses.of(user) is None
    used = (SECRET, Identity("", "local", "s"))
    uses.note(user, [used])
    assert uses.of(user) == frozenset({used})
    assert uses.users_of(used) == (user,)
    uses.note(user, [])
    assert uses.of(user) == frozenset()
    assert uses.users_of(used) == ()
