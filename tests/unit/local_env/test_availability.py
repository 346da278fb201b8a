from pathlib import Path
from typing import Any

import pytest

from privatellm_local import availability
from privatellm_local.addresses import SLOTS, plan_for
from privatellm_local.availability import Availability
from privatellm_local.platform.facts import PlatformFacts
from privatellm_local.platform.workloads import workloads


def _deployment(replicas: int, *, generation: int = 3, **status: int) -> dict[str, Any]:
    return {
        "metadata": {"name": "operator", "generation": generation},
        "spec": {"replicas": replicas},
        "status": {"observedGeneration": 3} | status,
    }


WHOLE = {"readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}


@pytest.mark.parametrize(
    ("deployment", "is_available", "trouble"),
    [
        (_deployment(1, **WHOLE), True, ""),
        (_deployment(0), False, "is scaled to 0"),
        (_deployment(1), False, "has 0 of 1 replicas ready"),
        (_deployment(2, **WHOLE), False, "has 1 of 2 replicas ready"),
        (
            _deployment(1, generation=4, **WHOLE),
            False,
            "has 1 of 1 replicas ready, not all of them of the newest form",
        ),
        (
            _deployment(1, **WHOLE | {"updatedReplicas": 0}),
            False,
            "has 1 of 1 replicas ready, not all of them of the newest form",
        ),
        (None, False, "does not exist"),
    ],
    ids=["whole", "scaled to nothing", "not ready", "one of two", "unseen", "rolling", "absent"],
)
def test_a_deployment_is_available_when_all_that_is_wanted_runs(
    deployment: dict[str, Any] | None, is_available: bool, trouble: str
) -> None:
    """Nothing of nothing is not available, whatever the numbers say."""
    seen = availability.availability("operator", deployment)

    assert seen.is_available is is_available
    assert seen.trouble == trouble


async def test_a_cluster_that_cannot_be_asked_is_an_answer_too(tmp_path: Path) -> None:
    """Looking never fails."""
    seen = await availability.look(tmp_path / "absent.kubeconfig", definitions=["a.b"])

    assert [part.name for part in seen.parts] == list(availability.PARTS)
    assert all(not part.is_known and not part.is_available for part in seen.parts)
    assert seen.missing_definitions == ()
    assert "does not answer" in Availability("operator", is_known=False).trouble


def test_the_platform_says_how_many_replicas_it_wants() -> None:
    """So that applying it again brings back what was scaled to nothing."""
    facts = PlatformFacts(
        public_host="127.0.0.1:20000",
        auth_address=plan_for(SLOTS - 1).authserver_service,
        ingress_class="traefik",
        entry_points=("web",),
        models=(),
    )

    deployments = [item for item in workloads(facts) if item["kind"] == "Deployment"]

    assert {item["metadata"]["name"] for item in deployments} == set(availability.PARTS)
    assert all(item["spec"]["replicas"] == 1 for item in deployments)
