from typing import Any

import pytest

from privatellm.errors import NotFoundError
from privatellm_cli import credentials
from privatellm_cli.credentials import InstanceName


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


@pytest.mark.parametrize(
    ("text", "namespace", "name"),
    [("chat", None, "chat"), ("acme/chat", "acme", "chat"), ("/chat", None, "chat")],
)
def test_an_instance_is_named_with_or_without_its_namespace(
    text: str, namespace: str | None, name: str
) -> None:
    """As kubectl users write it."""
    assert InstanceName.parse(text) == InstanceName(namespace, name)


def test_the_oldest_key_that_is_ready_is_taken() -> None:
    """The choice does not change when more are asked for."""
    requests = (
        _request("new", "chat", created="2026-11-30T02:00:00Z"),
        _request("old", "chat", created="2026-11-30T01:00:00Z"),
        _request("older", "chat", created="2026-11-30T00:00:00Z", phase="Revoked"),
        _request("other", "images"),
    )

    chosen = credentials.choose(InstanceName("acme", "chat"), requests)

    assert chosen["metadata"]["name"] == "old"


def test_an_instance_without_a_key_is_answered_with_what_to_do() -> None:
    """A key is asked for, not made by us."""
    with pytest.raises(NotFoundError, match=r"No APITokenRequest for instance acme/chat.*create"):
        credentials.choose(InstanceName("acme", "chat"), (_request("a", "images"),))


def test_a_key_that_is_not_ready_is_worth_waiting_for() -> None:
    """The message does not ask for another one."""
    requests = (_request("a", "chat", phase="Pending"),)

    with pytest.raises(NotFoundError, match="wait for it"):
        credentials.choose(InstanceName(None, "chat"), requests)


def test_one_name_in_two_namespaces_must_be_made_clear() -> None:
    """Nobody gets a key of another team by accident."""
    requests = (_request("a", "chat", namespace="x"), _request("b", "chat", namespace="y"))

    with pytest.raises(NotFoundError, match=r"x, y.*NAMESPACE/NAME"):
        credentials.choose(InstanceName(None, "chat"), requests)
