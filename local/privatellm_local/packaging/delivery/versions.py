"""The version: it is stated in ``pyproject.toml``, and everything else that states it must agree.

Charts cannot read another file and documentation is read without tools, so they repeat the version. This is
the list of who does; a test compares, and :func:`set_version` writes a new one everywhere at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from privatellm_local.packaging.delivery.errors import DeliveryError

NUMBER = r"(?:0|[1-9][0-9]*)"
VERSION = rf"{NUMBER}\.{NUMBER}\.{NUMBER}(?:-[0-9A-Za-z.-]+)?"
"""A version of Semantic Versioning, as far as charts, images and Python agree about its text."""


@dataclass(frozen=True, slots=True)
class Place:
    """Files that state the version, and how; the pattern's only group is the version."""

    glob: str
    pattern: str


SOURCE = Place("pyproject.toml", rf'(?m)^version = "({VERSION})"$')
"""Where the version is decided."""

REPEATED = (
    Place("charts/*/Chart.yaml", rf"(?m)^version: ({VERSION})$"),
    Place("charts/*/Chart.yaml", rf"(?m)^appVersion: ({VERSION})$"),
    Place("ocm/bootstrap.yaml", rf'(?m)^  semver: "({VERSION})"$'),
    Place("docs/how-to/*.md", rf"private-llm/[\w$-]+:({VERSION})\b"),
    Place("docs/how-to/*.md", rf"msp/private-llm:({VERSION})\b"),
    Place("docs/examples/**/*.yaml", rf"\{{tag: v({VERSION})\}}"),
    Place("docs/how-to/*.md", rf"charts/[\w-]+ --version ({VERSION})\b"),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One place that states a version."""

    path: Path
    start: int
    version: str


def version_of(root: Path) -> str:
    """Return the version of a repository.

    Raises:
        DeliveryError: when it does not state exactly one.
    """
    stated = tuple(_statements(root, SOURCE))
    if len(stated) != 1:
        raise DeliveryError(
            f"{SOURCE.glob} states the version once; it was found {len(stated)} times. "
            'Give [project] a line such as version = "1.2.3".'
        )
    return stated[0].version


def disagreements(root: Path) -> tuple[Statement, ...]:
    """Return every place that states another version than ``pyproject.toml``."""
    version = version_of(root)
    return tuple(each for each in _everything(root) if each.version != version)


def set_version(root: Path, version: str) -> tuple[Path, ...]:
    """Write a new version everywhere and return the files that changed.

    Raises:
        DeliveryError: when it is no version.
    """
    if not re.fullmatch(VERSION, version):
        raise DeliveryError(f"A version is like 1.2.3 or 1.2.3-rc.1; got {version!r}.")
    # From the end of a file to its beginning, so that a longer version moves nothing that is still to come.
    stated = sorted(_everything(root), key=lambda each: (each.path, -each.start))
    for each in stated:
        text = each.path.read_text()
        end = each.start + len(each.version)
        each.path.write_text(text[: each.start] + version + text[end:])
    return tuple(dict.fromkeys(each.path for each in stated if each.version != version))


def _everything(root: Path) -> Iterator[Statement]:
    for place in (SOURCE, *REPEATED):
        yield from _statements(root, place)


def _statements(root: Path, place: Place) -> Iterator[Statement]:
    for path in sorted(root.glob(place.glob)):
        for match in re.finditer(place.pattern, path.read_text()):
            yield Statement(path, match.start(1), match.group(1))
