"""What the policies look for is what the operator writes."""

import re

import pytest

import admission_tenants
import operator_objects
from privatellm import labels
from privatellm.admission import network_policies
from privatellm.admission.children import RULES
from privatellm.kube import Manifest, kinds
from privatellm.names import SERVICE_PORT_PATTERN
from privatellm_operator.render.children import build_all

FACTS = operator_objects.facts(operator_objects.instance("prod", replicas=2))
CHILDREN = build_all(FACTS)

every_child = pytest.mark.parametrize("child", CHILDREN, ids=lambda child: child["kind"])


def child_of(kind: kinds.Kind) -> Manifest:
    """Return the child of a kind."""
    (child,) = (c for c in CHILDREN if kinds.kind_of(c) == kind)
    return child


@every_child
def test_a_child_carries_the_labels_that_mark_it(child: Manifest) -> None:
    """And one more, which counts only beside them: the instance's UID."""
    uid = {labels.INSTANCE_UID: FACTS.instance.metadata.uid}

    assert child["metadata"]["labels"] == admission_tenants.CHILD_LABELS | uid


@every_child
def test_every_kind_of_child_is_guarded(child: Manifest) -> None:
    kind = kinds.kind_of(child)
    guarded = {(rule["apiGroups"][0], name) for rule in RULES for name in rule["resources"]}

    assert (kind.group, kind.plural) in guarded


def test_pods_carry_the_labels_by_which_network_policies_are_judged() -> None:
    template = child_of(kinds.DEPLOYMENT)["spec"]["template"]["metadata"]["labels"]
    judged = {*network_policies.FIXED_LABELS, *network_policies.OPEN_LABELS}

    assert network_policies.FIXED_LABELS.items() <= template.items()
    assert judged == {*template, "pod-template-hash"}


def test_a_model_server_is_selected_by_a_label_that_nobody_else_may_set() -> None:
    deployment, service = child_of(kinds.DEPLOYMENT), child_of(kinds.SERVICE)

    assert labels.LLM_INSTANCE in deployment["spec"]["selector"]["matchLabels"]
    assert labels.LLM_INSTANCE in service["spec"]["selector"]


def test_the_edge_uses_the_reserved_port_name() -> None:
    (path,) = child_of(kinds.INGRESS)["spec"]["rules"][0]["http"]["paths"]
    name = path["backend"]["service"]["port"]["name"]

    assert name in [port["name"] for port in child_of(kinds.SERVICE)["spec"]["ports"]]
    assert re.fullmatch(SERVICE_PORT_PATTERN, name)
