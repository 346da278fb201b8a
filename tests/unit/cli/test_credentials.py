from typing import Any

import pytest

from privatellm.errors import NotFoundError
from privatellm_cli import credentials
from privatellm_cli.cluster import Name

CHAT = Name("acme", "chat")


def _request(name: str, instance: str, **facts: str) -> dict[str, Any]:
    status = {"phase": facts.get("phase", "Ready"), "secretName": f"{name}-token"}
    return {
        "metadata": {
            "name": name,
            "namespace": facts.get("namespace", "acme"),
            "creationTimestamp": facts.get("created", "2026-11-30T00:00:00Z"),
        },
        "spec": {"instanceName": instance},
        "status": status,
    }


def test_the_oldest_key_that_is_ready_is_taken() -> None:
    """The choice does not change when more are asked for."""
    requests = (
        _request("new", "chat", created="2026-11-30T02:00:00Z"),
        _request("old", "chat", created="2026-11-30T01:00:00Z"),
        _request("older", "chat", created="2026-11-30T00:00:00Z", phase="Revoked"),
        _request("other", "images"),
    )

    chosen = credentials.choose(CHAT, requests)

    assert chosen["metadata"]["name"] == "old"


def test_an_instance_without_a_key_is_answered_with_what_to_do() -> None:
    """A key is asked for, not made by us."""
    with pytest.raises(NotFoundError, match=r"No APITokenRequest for instance acme/chat.*create"):
        credentials.choose(CHAT, (_request("a", "images"),))


def test_a_key_that_is_not_ready_is_worth_waiting_for() -> None:
    """The message does not ask for another one."""
    requests = (_request("a", "chat", phase="Pending"),)

    with pytest.raises(NotFoundError, match="wait for it"):
        credentials.choose(CHAT, requests)
