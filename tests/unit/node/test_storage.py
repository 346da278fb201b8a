from pathlib import Path
from typing import Any

import pytest

from privatellm_local.node import storage
from privatellm_local.node.storage import ClassPolicy

PROVISIONER = "example.org/host"
CLASSES = {
    "now": ClassPolicy(PROVISIONER, "Delete", waits_for_consumer=False),
    "later": ClassPolicy(PROVISIONER, "Retain", waits_for_consumer=True),
}


def claim(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    defaults = {
        "storageClassName": "now",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    identity = {"name": "data", "namespace": "shop", "uid": "u-1"}
    return {"metadata": identity | (metadata or {}), "spec": defaults | spec}


def volume(phase: str, policy: str = "Delete", provisioner: str = PROVISIONER) -> dict[str, Any]:
    return {
        "metadata": {"name": "pvc-u-1", "annotations": {storage.PROVISIONED_BY: provisioner}},
        "spec": {"persistentVolumeReclaimPolicy": policy},
        "status": {"phase": phase},
    }


def test_only_classes_that_name_us_are_provisioned() -> None:
    """Their policies are theirs to set."""
    classes = (
        {
            "metadata": {"name": "later"},
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Retain",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        {"metadata": {"name": "other"}, "provisioner": "somebody.else"},
    )

    assert storage.policies(classes, PROVISIONER) == {"later": CLASSES["later"]}


@pytest.mark.parametrize(
    ("subject", "wants"),
    [
        (claim(), True),
        (claim(volumeName="pvc-u-1"), False),
        (claim(storageClassName="other"), False),
        (claim({"deletionTimestamp": "2026-11-30T12:00:00Z"}), False),
        (claim(storageClassName="later"), False),
        (
            claim(
                {"annotations": {"volume.kubernetes.io/selected-node": "host"}},
                storageClassName="later",
            ),
            True,
        ),
    ],
)
def test_a_claim_gets_a_volume_when_it_waits_for_one_of_ours(
    subject: dict[str, Any], wants: bool
) -> None:
    """And, if its class says so, only once a pod needs it."""
    assert storage.wants_volume(subject, CLASSES) is wants


def test_a_volume_is_for_this_claim_and_no_namesake() -> None:
    """The UID is in the reference and in the name."""
    made = storage.volume_for(claim(), CLASSES["now"], Path("/root/volumes"))

    assert made["metadata"]["name"] == "pvc-u-1"
    assert made["metadata"]["annotations"] == {storage.PROVISIONED_BY: PROVISIONER}
    assert made["spec"]["claimRef"]["uid"] == "u-1"
    assert made["spec"]["hostPath"]["path"] == "/root/volumes/pvc-u-1"
    assert made["spec"]["capacity"] == {"storage": "1Gi"}


@pytest.mark.parametrize(
    ("subject", "ours"),
    [
        (volume("Released"), True),
        (volume("Failed"), True),
        (volume("Bound"), False),
        (volume("Released", policy="Retain"), False),
        (volume("Released", provisioner="somebody.else"), False),
    ],
)
def test_a_volume_is_removed_when_its_claim_is_gone(subject: dict[str, Any], ours: bool) -> None:
    """If it is ours, and its policy is Delete."""
    assert storage.reclaimable(subject, PROVISIONER) is ours
