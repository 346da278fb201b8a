import json
from pathlib import Path
from typing import Any

import pytest

from node_builders import EARLIER, NOW, config, settings
from privatellm_local.node import registration
from privatellm_local.node.config import NodeConfig
from privatellm_local.node.errors import NodeStartError


def test_a_node_lists_everything_that_the_scheduler_asks_for() -> None:
    """Without one of the amounts pods stay unschedulable."""
    status = registration.node_status(config(), EARLIER, NOW)

    assert status["allocatable"] == settings()["capacity"]
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert {"type": "InternalIP", "address": "127.0.0.1"} in status["addresses"]


def test_a_node_is_ready_since_it_began_and_heard_of_now() -> None:
    """A heartbeat is no transition."""
    status = registration.node_status(config(), EARLIER, NOW)
    ready = next(c for c in status["conditions"] if c["type"] == "Ready")

    assert ready["status"] == "True"
    assert ready["lastTransitionTime"] == "2026-11-30T11:59:50Z"
    assert ready["lastHeartbeatTime"] == "2026-11-30T12:00:00Z"


def test_a_lease_is_renewed_with_the_present_time() -> None:
    """In the resolution that Leases have."""
    assert registration.lease_spec("host", NOW)["renewTime"] == "2026-11-30T12:00:00.000000Z"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"root_dir": "relative"}, "absolute"),
        ({"kubelet_port": 80}, "kubelet_port"),
        ({"pod_cidr": "127.111.0.7/16"}, "pod_cidr"),
        ({"images": [{"image": "x", "exec": []}]}, "exec"),
        ({"service_cidr": "10.0.0.0/16"}, "127.0.0.0/8"),
        ({"typo": 1}, "typo"),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_field_that_is_wrong(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    """One error a person can act upon."""
    path = tmp_path / "node.json"
    path.write_text(json.dumps(settings(**change)))

    with pytest.raises(NodeStartError, match=said):
        NodeConfig.load(path)


def test_a_missing_configuration_is_refused(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(NodeStartError, match=r"absent\.json"):
        NodeConfig.load(tmp_path / "absent.json")
