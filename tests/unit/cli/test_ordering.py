from typing import Any

import pytest

from privatellm_cli import ordering
from privatellm_cli.cluster import Name
from privatellm_cli.commands.deploy import next_step

NAME = Name("acme", "chat")
TWO_CONFLICTS = """Apply failed with 2 conflicts: conflicts with "flux":
- .spec.model
conflicts with "privatellm-cli" with subresource "scale":
- .spec.replicas"""


def test_an_order_sets_only_what_was_asked_for() -> None:
    """What is left out stays with whoever manages it."""
    assert ordering.manifest(NAME, "phi-2", None)["spec"] == {"model": "phi-2"}
    assert ordering.manifest(NAME, "phi-2", 0)["spec"] == {"model": "phi-2", "replicas": 0}


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (
            'Apply failed with 1 conflict: conflict with "kubectl" using v1alpha1: .spec.model',
            {"kubectl"},
        ),
        (TWO_CONFLICTS, {"flux", "privatellm-cli"}),
        ("the object has been modified", {"another manager"}),
    ],
)
def test_the_managers_in_the_way_are_read_off_the_servers_message(
    message: str, named: set[str]
) -> None:
    """A message of another form never counts as ours."""
    assert ordering.managers(message) == named


def _entry(manager: str, operation: str, **spec: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": {"f:spec": spec}}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([_entry("privatellm-cli", "Apply", **{"f:replicas": {}})], 3),
        ([_entry("privatellm-cli", "Apply", **{"f:model": {}})], None),
        ([_entry("privatellm-cli", "Update", **{"f:replicas": {}})], None),
        ([_entry("autoscaler", "Update", **{"f:replicas": {}})], None),
        ([], None),
    ],
)
def test_replicas_of_an_earlier_order_are_kept(
    entries: list[dict[str, Any]], expected: int | None
) -> None:
    """An apply that leaves out a field of its own resets it; others' fields stay by themselves."""
    before = {"metadata": {"managedFields": entries}, "spec": {"model": "m", "replicas": 3}}

    assert ordering.kept_replicas(before) == expected
    assert ordering.kept_replicas(None) is None


@pytest.mark.parametrize(
    ("replicas", "waited", "line"),
    [
        (1, False, "privatellm describe acme/chat"),
        (1, True, "privatellm token create acme/chat"),
        (0, False, "privatellm scale acme/chat --replicas 1"),
        (0, True, "privatellm scale acme/chat --replicas 1"),
    ],
)
def test_an_order_ends_with_the_next_command(replicas: int, waited: bool, line: str) -> None:
    """An instance that was stopped stays so when its order changes, and a key for it would open nothing."""
    stored = {"spec": {"model": "m", "replicas": replicas}}

    assert next_step(Name("acme", "chat"), stored, waited=waited).endswith(f": {line}")
