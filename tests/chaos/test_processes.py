"""SIGKILL of each process of the platform while customers ask and order."""

import signal

import pytest

from chaos_fault import BY_EVENT, BY_WATCH, Fault, Stage
from chaos_parts import AUTHSERVER, HOST_NODE, MODEL_SERVER, OPERATOR
from eventually import eventually

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

REPLACED_SECONDS = 120.0


async def _killed(stage: Stage, part: str, name: str, bound: float = BY_EVENT) -> Fault:
    async with stage.fault(name, bound=bound) as fault:
        fault.begins()
        before = stage.parts.hit(part, signal.SIGKILL)

        async def replaced() -> bool:
            return stage.parts.pid(part) not in (None, before)

        await eventually(replaced, within=REPLACED_SECONDS, what=f"another {part}")
        fault.figures["another process"] = fault.age
    return fault


async def test_a_killed_operator_costs_nobody_an_answer(stage: Stage) -> None:
    """The edge decides without it; orders wait until it is back."""
    fault = await _killed(stage, OPERATOR, "operator: kill -9")
    assert fault.seen().refused == {}


async def test_a_killed_check_lets_nobody_in_and_is_back(stage: Stage) -> None:
    """Without a ForwardAuth service the edge is closed, not open."""
    fault = await _killed(stage, AUTHSERVER, "ForwardAuth service, the only replica: kill -9")
    assert fault.seen().refused


async def test_a_killed_edge_lets_nobody_in_and_is_back(stage: Stage) -> None:
    """It listens before it knows its routes, and answers nobody meanwhile."""
    fault = await _killed(stage, "traefik", "Traefik, the only replica: kill -9")
    assert fault.seen().refused


async def test_a_killed_api_server_costs_nobody_an_answer(stage: Stage) -> None:
    """The edge decides by what it knows, for a minute."""
    fault = await _killed(stage, "kube-apiserver", "kube-apiserver: kill -9", BY_WATCH)
    assert fault.seen().refused == {}


async def test_a_killed_etcd_loses_no_order(stage: Stage) -> None:
    """What was acknowledged is on the disk."""
    fault = await _killed(stage, "etcd", "etcd: kill -9", BY_WATCH)
    assert fault.seen().refused == {}


async def test_a_killed_controller_manager_costs_nobody_an_answer(stage: Stage) -> None:
    """Nothing of ours is rolled, collected or scaled until it is back."""
    fault = await _killed(stage, "kube-controller-manager", "kube-controller-manager: kill -9")
    assert fault.seen().refused == {}


async def test_a_killed_scheduler_costs_nobody_an_answer(stage: Stage) -> None:
    """What runs is placed already."""
    fault = await _killed(stage, "kube-scheduler", "kube-scheduler: kill -9")
    assert fault.seen().refused == {}


async def test_a_killed_model_server_is_started_again(stage: Stage) -> None:
    """The edge answers 503 meanwhile, and the weights are not fetched again."""
    fault = await _killed(stage, MODEL_SERVER, "model server, the only replica: kill -9")
    assert fault.seen().refused


async def test_a_killed_node_comes_back_with_all_its_pods(stage: Stage) -> None:
    """Every container dies with it: operator, ForwardAuth service and model server at once."""
    fault = await _killed(stage, HOST_NODE, "the node with every pod: kill -9")
    assert fault.seen().refused
