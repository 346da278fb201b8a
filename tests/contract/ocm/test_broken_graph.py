"""kro refuses a graph with a broken expression; so the one that it accepts means something."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

import ocm_kro
from privatellm.kube import KubeClient

pytestmark = [pytest.mark.deep, pytest.mark.timeout(300)]

Graph = dict[str, Any]


def _in_release(graph: Graph) -> dict[str, Any]:
    spec: dict[str, Any] = graph["spec"]["resources"][-1]["template"]["spec"]
    return spec


def _unknown_field(graph: Graph) -> None:
    _in_release(graph)["releaseNames"] = "private-llm"


def _unknown_resource(graph: Graph) -> None:
    _in_release(graph)["releaseName"] = "${operatorImages.metadata.name}"


def _misspelt_path(graph: Graph) -> None:
    _in_release(graph)["targetNamespace"] = "${schema.spec.nameSpace}"


def _wrong_type(graph: Graph) -> None:
    _in_release(graph)["releaseName"] = "${release.metadata.generation}"


def _wrong_readiness(graph: Graph) -> None:
    graph["spec"]["resources"][-1]["readyWhen"] = ["${release.status.phase == 'Ready'}"]


def _wrong_status(graph: Graph) -> None:
    graph["spec"]["schema"]["status"]["version"] = "${release.status.version}"


@pytest.mark.parametrize(
    "spoil",
    [
        _unknown_field,
        _unknown_resource,
        _misspelt_path,
        _wrong_type,
        _wrong_readiness,
        _wrong_status,
    ],
    ids=lambda spoil: str(spoil.__name__)[1:],
)
async def test_a_broken_copy_is_refused(client: KubeClient, spoil: Callable[[Graph], None]) -> None:
    """Before anybody can order with it."""
    copied = copy.deepcopy(ocm_kro.our_graph())
    copied["metadata"]["name"] = "broken"
    copied["spec"]["schema"]["kind"] = "BrokenInstallation"
    spoil(copied)

    assert await ocm_kro.refused(client, copied)
