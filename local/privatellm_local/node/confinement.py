"""Which files a container may name: its own, and no others of the person whose processes it runs as.

A pod chooses the arguments and variables of programs that we trust, and those programs read and write
what they are told to. Without a mount namespace ``--path /home/you/.ssh/id_rsa`` would mean just that. So
every path in the finished texts must lead into a mount of the container, its working directory, or a
directory that the node shares with every pod by ``hostPath``. Symbolic links are followed as they are at
the start. A text is read as programs read it: as a whole, after an option's name, and as a list or pairs
(``=``, ``,``, ``:``, ``;``, ``@``, ``|``). Paths inside of quotes or prose are not looked for.

What this does not do: a link that appears after the start, the contents of mounted files, and what a
program opens by itself are out of reach. It keeps pods from naming files; it is no sandbox.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from privatellm_local.node.errors import ContainerRefusedError

STREAMS = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
"""What programs are told to use instead of a file."""

_SEPARATORS = "=,:;@|"
_WEB_ADDRESS = re.compile(r"https?://[^\s,;|]*", re.IGNORECASE)
_FILE_URL = re.compile(r"file:(?://[^/]*(?=/))?", re.IGNORECASE)
_PARENT = re.compile(rf"(?:^(?:-[\w-]+)?|[/{_SEPARATORS}])\.\.(?:$|[/{_SEPARATORS}])")
_GLUED_OPTION = re.compile(r"-[\w-]+(?=[/~])|-[\w-]+?(?=file:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Confinement:
    """The places that one container may name."""

    roots: tuple[Path, ...]
    """Directories and files, without symbolic links on the way to them."""

    inside: tuple[str, ...]
    """What the container calls its mounts, for messages."""

    @classmethod
    def of(cls, places: Iterable[Path], inside: Iterable[str]) -> "Confinement":
        """Take the places as they are on this machine, and what the container calls its mounts."""
        return cls(tuple(_real(str(place)) for place in places), tuple(sorted(inside)))

    def check_arguments(self, arguments: Iterable[str]) -> None:
        """Refuse arguments that name other files.

        Raises:
            ContainerRefusedError: with the path.
        """
        for argument in arguments:
            path = self.stray(argument)
            if path is not None:
                raise self._refusal(f"an argument names {path!r}")

    def check_variables(self, variables: Mapping[str, str]) -> None:
        """Refuse variables that name other files.

        Raises:
            ContainerRefusedError: with the variable's name; its value may be a secret.
        """
        for name, value in variables.items():
            if self.stray(value) is not None:
                raise self._refusal(f"variable {name} names another path")

    def stray(self, text: str) -> str | None:
        """Return the first path in a text that leads elsewhere, or ``None``."""
        return next((path for path in _paths(text) if not self._is_within(path)), None)

    def _is_within(self, path: str) -> bool:
        if path in STREAMS:
            return True
        # Another user's home, a parent and a NUL byte lead nowhere that a pod has.
        if path.startswith("~") or _PARENT.search(path) or "\0" in path:
            return False
        real = _real(path)
        return any(real.is_relative_to(root) for root in self.roots)

    def _refusal(self, what: str) -> ContainerRefusedError:
        mounts = ", ".join(self.inside) or "none"
        return ContainerRefusedError(
            "Pods are processes of this machine's user, so arguments and variables may only name "
            f"paths below the container's own mounts ({mounts}); {what}. Mount a volume and name "
            "the file in it."
        )


def _paths(text: str) -> Iterator[str]:
    """Yield every part of a text that a program could take for a path outside its directory."""
    addresses = [match.span() for match in _WEB_ADDRESS.finditer(text)]
    if _PARENT.search(text):
        yield text
    for start in _beginnings(text):
        if any(first <= start < end for first, end in addresses):
            continue
        rest = text[start:]
        if url := _FILE_URL.match(rest):
            yield unquote(rest[url.end() :])
        elif rest.startswith("/") or re.match(r"~[^/]", rest):
            yield rest
            # The first of several; a separator may also be a part of the name.
            yield re.split(f"[{_SEPARATORS}]", rest, maxsplit=1)[0]


def _beginnings(text: str) -> Iterator[int]:
    """Yield where a path could begin."""
    yield 0
    if option := _GLUED_OPTION.match(text):
        yield option.end()
    yield from (match.end() for match in re.finditer(f"[{_SEPARATORS}]", text))


def _real(path: str) -> Path:
    # Not Path.resolve, which raises at a loop of links.
    return Path(os.path.realpath(path))
