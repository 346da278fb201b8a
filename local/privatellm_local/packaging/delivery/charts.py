"""The charts as they are in the repository, and every image that their values name."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = "charts"


@dataclass(frozen=True, slots=True)
class PackagedChart:
    """One chart."""

    name: str
    version: str
    app_version: str
    values: dict[str, Any]

    @property
    def images(self) -> dict[str, dict[str, Any]]:
        """Every image that its values name, by the path of the value, such as ``server.image``."""
        return dict(_images(self.values, ()))


def packaged_charts(root: Path) -> tuple[PackagedChart, ...]:
    """Return the charts of a repository, by name."""
    return tuple(_read(file.parent) for file in sorted((root / FOLDER).glob("*/Chart.yaml")))


def _read(directory: Path) -> PackagedChart:
    about = yaml.safe_load((directory / "Chart.yaml").read_text())
    values = yaml.safe_load((directory / "values.yaml").read_text())
    return PackagedChart(about["name"], about["version"], about["appVersion"], values or {})


def _images(values: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the groups that look like an image's: they have a repository and a digest."""
    if {"repository", "digest"} <= values.keys():
        yield ".".join(path), values
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _images(value, (*path, name))
