"""Images are names of programs of this machine.

Nothing is pulled. A pod runs what the table says for its image and command, and nothing else; tag and
digest are not looked at, because there is one version of each program here.
"""

from collections.abc import Sequence

from privatellm_local.node.config import ImageEntry
from privatellm_local.node.errors import ContainerRefusedError, WaitingReason
from privatellm_local.node.pod import Container


def repository(image: str) -> str:
    """Return an image reference without its tag and digest; a registry's port is kept."""
    untagged = image.partition("@")[0]
    head, slash, tail = untagged.rpartition("/")
    return head + slash + tail.partition(":")[0]


def resolve(container: Container, table: Sequence[ImageEntry]) -> tuple[str, ...]:
    """Return the program of a container, without the container's args.

    Raises:
        ContainerRefusedError: when the table has no entry for this image and command.
    """
    wanted = repository(container.image)
    command = container.command or None
    offered = [entry for entry in table if entry.image == wanted]
    for entry in offered:
        if entry.command == command:
            return entry.exec
    raise ContainerRefusedError(
        _explain(container, offered, table), WaitingReason.ERR_IMAGE_NEVER_PULL
    )


def _explain(
    container: Container, offered: Sequence[ImageEntry], table: Sequence[ImageEntry]
) -> str:
    if offered:
        commands = ", ".join(
            "no command" if entry.command is None else str(list(entry.command)) for entry in offered
        )
        return (
            f"The host node runs image {container.image} only with: {commands}; "
            f"got command {list(container.command)}."
        )
    known = ", ".join(sorted({entry.image for entry in table})) or "none"
    return (
        f"The host node pulls no images and has none for {container.image!r}. "
        f"Use one of its images: {known}."
    )
