from ipaddress import IPv4Network
from typing import Any

import pytest

from node_builders import container
from privatellm_local.node.registry import LocalPod, PodRegistry
from privatellm_local.node.services.listeners import Balancer
from privatellm_local.node.services.service import (
    PROXY_NAME_LABEL,
    Backend,
    Domain,
    Listen,
    Target,
    backends,
    targets,
)

DOMAIN = Domain(IPv4Network("127.110.0.0/16"))


def service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
    defaults = {"clusterIP": "127.110.0.9", "selector": {"app": "web"}, "ports": list(ports)}
    return {"metadata": {"name": "web", "namespace": "shop"}, "spec": defaults | spec}


def local_pod(uid: str, *, ready: bool = True, **fields: Any) -> LocalPod:
    defaults: dict[str, Any] = {
        "namespace": "shop",
        "labels": {"app": "web", "version": "1"},
        "address": f"127.111.0.{uid}",
        "containers": (container(ports=[{"name": "http", "containerPort": 8000}]),),
    }
    return LocalPod(uid=uid, ready=ready, **(defaults | fields))


def test_each_port_of_a_service_is_listened_on() -> None:
    """The target port is the port itself unless it says otherwise."""
    found = targets(service({"port": 80}, {"port": 8001, "targetPort": "http"}), DOMAIN)

    assert found == {
        Listen("127.110.0.9", 80): Target("shop", {"app": "web"}, 80),
        Listen("127.110.0.9", 8001): Target("shop", {"app": "web"}, "http"),
    }


@pytest.mark.parametrize(
    "spec",
    [
        {"selector": {}},
        {"clusterIP": "None"},
        {"clusterIP": ""},
        {"clusterIP": "10.0.0.1"},
        {"ports": [{"port": 80, "protocol": "UDP"}]},
    ],
)
def test_what_cannot_be_served_is_left_alone(spec: dict[str, Any]) -> None:
    """Headless, without selector, out of range, not TCP."""
    assert targets(service({"port": 80}, **spec), DOMAIN) == {}


@pytest.mark.parametrize(
    ("label", "proxy_name", "served"),
    [("", "", True), ("mine", "mine", True), ("mine", "", False), ("", "mine", False)],
)
def test_a_service_is_served_by_the_proxy_that_it_names(
    label: str, proxy_name: str, served: bool
) -> None:
    """So that two nodes on one machine do not want the same ports."""
    manifest = service({"port": 80})
    manifest["metadata"]["labels"] = {PROXY_NAME_LABEL: label} if label else {}

    assert bool(targets(manifest, Domain(DOMAIN.network, proxy_name))) is served


@pytest.mark.parametrize(
    ("pod", "serves"),
    [
        (local_pod("1"), True),
        (local_pod("1", ready=False), False),
        (local_pod("1", namespace="other"), False),
        (local_pod("1", labels={"app": "other"}), False),
        (local_pod("1", containers=(container(),)), False),
    ],
)
def test_only_ready_pods_that_are_selected_and_have_the_port_serve(
    pod: LocalPod, serves: bool
) -> None:
    """A named port is looked up in the pod."""
    target = Target("shop", {"app": "web"}, "http")

    expected = (Backend("1", "127.111.0.1", 8000),) if serves else ()
    assert expected == backends(target, [pod])


def test_connections_are_spread_and_follow_the_pods() -> None:
    """Every ready pod gets its turn; one that ends gets none."""
    registry = PodRegistry()
    for uid in "12":
        registry.put(local_pod(uid))
    balancer = Balancer(Target("shop", {"app": "web"}, 8000), registry)

    first, second = [[b.pod_uid for b in balancer.candidates()] for _ in range(2)]
    registry.put(local_pod("1", ready=False))

    assert {first[0], second[0]} == {"1", "2"}
    assert sorted(first) == sorted(second) == ["1", "2"]
    assert [b.pod_uid for b in balancer.candidates()] == ["2"]


def test_the_registry_tells_who_wants_to_know_that_a_pod_is_gone() -> None:
    """Once, and only for pods that it knew."""
    registry, gone = PodRegistry(), list[str]()
    registry.on_removal(gone.append)
    registry.put(local_pod("1"))

    registry.remove("1")
    registry.remove("1")

    assert gone == ["1"]
