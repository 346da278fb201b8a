import pytest

from node_builders import container, facts, pod
from privatellm.errors import InvalidInputError
from privatellm_local.node import quantities
from privatellm_local.node.pod import FieldRef, ResourceFieldRef


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web-1"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['app']", "web"),
        ("metadata.labels['absent']", ""),
        ("metadata.labels", 'app="web"'),
        ("metadata.annotations", 'note="say \\"hi\\""'),
        ("status.podIP", "127.111.0.7"),
        ("status.hostIP", "127.0.0.1"),
        ("spec.serviceAccountName", "default"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    """Each documented field has its value."""
    subject = pod(metadata={"annotations": {"note": 'say "hi"'}})

    assert expected == facts(subject).field(FieldRef(field_path=path))


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", "1", "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "1", "1"),
        ("limits.memory", "1", str(16 * 1024**3)),
        ("requests.memory", "1Mi", "512"),
        ("requests.ephemeral-storage", "1", "0"),
    ],
)
def test_amounts_are_rounded_up_and_a_missing_limit_is_the_nodes(
    resource: str, divisor: str, expected: str
) -> None:
    """A program that asks for its limit learns what there is."""
    subject = container(
        resources={"limits": {"cpu": "1500m"}, "requests": {"cpu": "250m", "memory": "512Mi"}}
    )
    its = facts(pod(subject.model_dump(by_alias=True)))

    assert expected == its.resource(ResourceFieldRef(resource=resource, divisor=divisor), subject)


@pytest.mark.parametrize("text", ["", "x", "1Qi", "--1", "1 Gi", "1mm"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """The message repeats what it got."""
    with pytest.raises(InvalidInputError, match="quantity"):
        quantities.parse(text)
