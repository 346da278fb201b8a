"""Where a container's paths really are.

There is no mount namespace, so ``/models`` of a container is some directory of this machine. Every
mount path that occurs at a path boundary in a literal of the pod (an argument, the value of a
variable) is replaced in one pass, longest path first, so that a replacement is never replaced again.
Literals are rewritten *before* ``$(NAME)`` is expanded, for the same reason. A program that has a
mount path compiled in is out of reach.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from privatellm_local.node.errors import ContainerRefusedError

_PATH_CHARACTER = r"[\w./~%+@-]"
"""A mount path right behind one of these is the tail of some longer path or of a URL."""

_NAME_CHARACTER = r"[\w.~%+@-]"
"""A mount path right before one of these is the head of another name, as in ``/models-old``."""


class PathMap:
    """The mounts of one container."""

    def __init__(self, mounts: Mapping[str, Path]) -> None:
        """Take the mounts.

        Args:
            mounts: Absolute path in the container to absolute path on this machine.

        Raises:
            ContainerRefusedError: when a mount path is relative, has ``..`` in it, or is the root.
        """
        self._mounts = {_normal(inside): outside for inside, outside in mounts.items()}
        longest_first = sorted(self._mounts, key=len, reverse=True)
        alternatives = "|".join(re.escape(path) for path in longest_first) or r"(?!)"
        self._pattern = re.compile(f"(?<!{_PATH_CHARACTER})(?:{alternatives})(?!{_NAME_CHARACTER})")

    def rewrite(self, literal: str) -> str:
        """Return the literal with every mount path replaced by the directory it stands for."""
        return self._pattern.sub(lambda match: str(self._mounts[match[0]]), literal)

    def as_text(self) -> dict[str, str]:
        """Return the mounts for programs that read paths from elsewhere than args and variables."""
        return {inside: str(outside) for inside, outside in sorted(self._mounts.items())}

    @property
    def places(self) -> Mapping[str, Path]:
        """The mounts, as absolute path in the container to absolute path on this machine."""
        return self._mounts

    def get(self, inside: str) -> Path | None:
        """Return the directory mounted at exactly this path."""
        return self._mounts.get(inside)


def _normal(path: str) -> str:
    parts = PurePosixPath(path)
    if not parts.is_absolute() or ".." in parts.parts or len(parts.parts) == 1:
        raise ContainerRefusedError(
            f"A mount path on the host node is absolute, without '..' and not the root; got {path!r}."
        )
    return str(parts)
