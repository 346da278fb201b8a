"""What a copy shall look like, and the patch that makes it so."""

import copy
from typing import Any

from privatellm.kube.kinds import LLM_INSTANCE
from privatellm_sync_agent.engine.content import content_for_copy, new_copy, update_of
from privatellm_sync_agent.engine.publication import Publication
from privatellm_sync_agent.objects.merge import applied
from privatellm_sync_agent.objects.ownership import MEMORY
from privatellm_sync_agent.published import spec

REMOTE: dict[str, Any] = {
    "apiVersion": "llm.privatellms.msp/v1alpha1",
    "kind": "LLMInstance",
    "metadata": {
        "name": "x",
        "namespace": "team-a",
        "uid": "u",
        "labels": {"team": "a", "syncagent.kcp.io/agent-name": "evil"},
        "annotations": {"kcp.io/cluster": "c", "traefik.x": "y"},
    },
    "spec": {"model": "tinyllama", "replicas": 1, "nothing": None},
    "status": {"phase": "Ready"},
}
MARKS = {"syncagent.kcp.io/agent-name": "agent"}


def publication(**mutation: Any) -> Publication:
    fields = {"resource": {"apiGroup": "a", "kind": "B"}, "mutation": mutation}
    parsed = spec.parse({"metadata": {"name": "x"}, "spec": fields})
    return Publication("x", parsed, "agent", LLM_INSTANCE, LLM_INSTANCE, has_status=True)


def test_a_customers_control_plane_metadata_never_reaches_the_copy() -> None:
    """Nor does the status, nor a null."""
    before = copy.deepcopy(REMOTE)
    content = content_for_copy(publication(), REMOTE, None)
    assert content == {
        "metadata": {"labels": {"team": "a"}, "annotations": {}},
        "spec": {"model": "tinyllama", "replicas": 1},
    }
    assert before == REMOTE


def test_a_providers_mutation_may_add_what_a_customer_may_not() -> None:
    """The filter runs first."""
    rule = {
        "template": {
            "path": r"metadata.labels.app\.kubernetes\.io/name",
            "template": "{{ .LocalObject.metadata.name }}",
        }
    }
    content = content_for_copy(publication(spec=[rule]), REMOTE, None)
    assert content["metadata"]["labels"]["app.kubernetes.io/name"] == "x"


def test_a_copy_is_made_and_updated_without_a_second_write() -> None:
    """Content, marks and memory are one request; a settled copy needs none."""
    content = content_for_copy(publication(), REMOTE, None)
    made = copy.deepcopy(new_copy(content, MARKS, {"a": "b"}))
    assert update_of(content, made, MARKS, {"a": "b"}) == {}

    made["spec"]["replicas"] = 7
    made["spec"]["defaulted"] = True
    assert update_of(content, made, MARKS, {"a": "b"}) == {}

    changed = content | {"spec": {"model": "phi-2", "replicas": 1}}
    patch = update_of(changed, made, MARKS, {"a": "b"})
    assert patch["spec"] == {"model": "phi-2"}
    assert set(patch["metadata"]["annotations"]) == {MEMORY}
    assert update_of(changed, applied(patch, made), MARKS, {"a": "b"}) == {}


def test_marks_that_were_removed_are_put_back() -> None:
    """An administrator's slip does not lose the copy."""
    content = content_for_copy(publication(), REMOTE, None)
    made = new_copy(content, MARKS, {})
    made["metadata"]["labels"] = {"team": "a"}
    assert update_of(content, made, MARKS, {}) == {"metadata": {"labels": MARKS}}


def test_a_label_that_the_customer_removed_goes_and_an_administrators_stays() -> None:
    """Labels are merged like every other field."""
    content = content_for_copy(publication(), REMOTE, None)
    made = new_copy(content, MARKS, {})
    made["metadata"]["labels"]["ops"] = "1"
    patch = update_of(content | {"metadata": {"labels": {}, "annotations": {}}}, made, MARKS, {})
    assert applied(patch, made)["metadata"]["labels"] == MARKS | {"ops": "1"}
