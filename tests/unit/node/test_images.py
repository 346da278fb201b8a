import pytest

from node_builders import container
from privatellm_local.node.config import ImageEntry
from privatellm_local.node.errors import ContainerRefusedError, WaitingReason
from privatellm_local.node.images import repository, resolve

TABLE = (
    ImageEntry(image="ghcr.io/x/operator", exec=("python", "-m", "operator")),
    ImageEntry(image="ghcr.io/x/operator", command=("fetch",), exec=("python", "-m", "fetch")),
)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nginx", "nginx"),
        ("nginx:1.27", "nginx"),
        ("ghcr.io/x/y:tag", "ghcr.io/x/y"),
        ("ghcr.io/x/y@sha256:abc", "ghcr.io/x/y"),
        ("ghcr.io/x/y:tag@sha256:abc", "ghcr.io/x/y"),
        ("localhost:5000/x", "localhost:5000/x"),
        ("localhost:5000/x:1", "localhost:5000/x"),
    ],
)
def test_tag_and_digest_are_not_part_of_a_repository(image: str, expected: str) -> None:
    """A registry's port is, though."""
    assert expected == repository(image)


def test_the_command_chooses_among_the_programs_of_an_image() -> None:
    """One image can stand for several programs."""
    plain = container(image="ghcr.io/x/operator:1")
    fetch = container(image="ghcr.io/x/operator:1", command=["fetch"])

    assert resolve(plain, TABLE) == ("python", "-m", "operator")
    assert resolve(fetch, TABLE) == ("python", "-m", "fetch")


@pytest.mark.parametrize(
    ("image", "command", "said"),
    [
        ("nginx", [], "ghcr.io/x/operator"),
        ("ghcr.io/x/operator", ["sh", "-c", "id"], "'fetch'"),
        ("ghcr.io/x/operator", ["fetch", "more"], "no command"),
    ],
)
def test_what_is_not_in_the_table_does_not_run(image: str, command: list[str], said: str) -> None:
    """The refusal names what would be accepted."""
    with pytest.raises(ContainerRefusedError, match=said) as refusal:
        resolve(container(image=image, command=command), TABLE)

    assert refusal.value.reason is WaitingReason.ERR_IMAGE_NEVER_PULL
