"""What the sync agent publishes, as the agent itself says it.

This package knows no other part of the distribution, so the agent's own generator is run as a command; the
chart has the same files from it.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from privatellm_local.build import commands
from privatellm_local.errors import StartError
from privatellm_local.paths import StatePaths

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Published:
    """What is published.

    Attributes:
        definition: The CustomResourceDefinition of PublishedResource.
        resources: The PublishedResources of our kinds.
    """

    definition: Manifest
    resources: tuple[Manifest, ...]


async def generate(paths: StatePaths) -> Published:
    """Write the files and return what they say.

    Raises:
        StartError: when the generator fails, with the last thing it said.
    """
    directory = paths.config / "published"
    directory.mkdir(exist_ok=True)
    outcome = await commands.run(
        (sys.executable, "-P", "-m", "privatellm_sync_agent.chart_files", str(directory)),
        directory=directory,
        environment=os.environ,
        log=paths.log("published"),
        on_line=lambda _: None,
    )
    if outcome.code != 0:
        said = " ".join(outcome.last_errors[-1:]) or "it said nothing"
        raise StartError(f"What the sync agent publishes cannot be generated: {said}.")
    return _read(directory)


def _read(directory: Path) -> Published:
    definition = _manifest(directory / "crds/publishedresources.yaml")
    files = sorted((directory / "published-resources").glob("*.yaml"))
    return Published(definition, tuple(_manifest(file) for file in files))


def _manifest(file: Path) -> Manifest:
    found: Manifest = yaml.safe_load(file.read_text())
    return found
