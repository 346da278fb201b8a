"""The fence: a process that may not lead any more writes nothing."""

import pytest
from kubernetes.aio.client import Configuration

from privatellm.errors import UnavailableError
from privatellm.kube.credentials import Credentials
from privatellm.kube.fence import NOT_LEADING, FencedClient
from privatellm.kube.kinds import SECRET

NOWHERE = "http://127.0.0.1:1"


async def test_only_a_write_asks_whether_it_may() -> None:
    """A read goes out, and so does a write that may; one that may not never reaches the network."""
    asked: list[bool] = []
    answers = iter([True, False])

    def may_write() -> bool:
        asked.append(next(answers))
        return asked[-1]

    async with FencedClient(Credentials(None, Configuration(host=NOWHERE))) as client:
        behind = client.behind(may_write)
        for at in (behind, behind.at(f"{NOWHERE}/clusters/c1")):
            with pytest.raises(UnavailableError) as read:
                await at.get(SECRET, "s", "default")
            assert read.value.reason != NOT_LEADING
        reasons = []
        for _ in range(2):
            with pytest.raises(UnavailableError) as written:
                await behind.at(f"{NOWHERE}/clusters/c1").delete(SECRET, "s", "default")
            reasons.append(written.value.reason == NOT_LEADING)
        assert (asked, reasons) == ([True, False], [False, True])
        with pytest.raises(UnavailableError) as free:
            await client.delete(SECRET, "s", "default")
        assert free.value.reason != NOT_LEADING
