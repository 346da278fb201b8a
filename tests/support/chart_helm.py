"""Helm under test: the pinned program, with directories of its own, on the chart of this repository."""

import asyncio
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from privatellm_local.build.builder import ensure_built
from privatellm_local.build.programs import HELM, Program
from privatellm_local.paths import cache_paths
from privatellm_local.progress import SilentProgress

Manifest = dict[str, Any]
Values = dict[str, Any]

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "charts" / "private-llm-operator"
NAMESPACE = "private-llm-system"
RELEASE = "private-llm"
BUILD_SECONDS = 20 * 60
RUN_SECONDS = 180


class HelmError(AssertionError):
    """Helm refused; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Helm:
    """The program and where it keeps its things."""

    program: Path
    home: Path
    kubeconfig: Path | None = None

    def run(self, *arguments: str, values: Values | None = None) -> str:
        """Run Helm and return what it printed.

        Args:
            arguments: Its arguments.
            values: Values that are given as a file.

        Raises:
            HelmError: when it fails.
        """
        given = ("--values", "-") if values is not None else ()
        finished = subprocess.run(
            [str(self.program), *arguments, *given],
            # As JSON: YAML readers disagree about which bare words are booleans.
            input=json.dumps(values, ensure_ascii=False) if values is not None else "",
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_SECONDS,
            env={"PATH": os.environ["PATH"], **self._environment()},
        )
        if finished.returncode != 0:
            raise HelmError(finished.stderr)
        return finished.stdout

    def template(
        self,
        values: Values | None = None,
        *arguments: str,
        chart: Path = CHART,
        namespace: str = NAMESPACE,
    ) -> tuple[Manifest, ...]:
        """Render the chart without a cluster and return its objects."""
        rendered = self.run(
            "template",
            RELEASE,
            str(chart),
            "--namespace",
            namespace,
            *arguments,
            values=values or {},
        )
        return objects_in(rendered)

    def _environment(self) -> dict[str, str]:
        directories = {
            "HELM_CACHE_HOME": "cache",
            "HELM_CONFIG_HOME": "config",
            "HELM_DATA_HOME": "data",
        }
        chosen = {name: str(self.home / directory) for name, directory in directories.items()}
        return chosen | {"HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig or "/dev/null")}


def provide(home: Path, kubeconfig: Path | None = None, version: Program = HELM) -> Helm:
    """Return Helm, built from its pinned module where that was not done before.

    Args:
        home: Where it keeps its things.
        kubeconfig: Whose cluster; none for what needs no cluster.
        version: Which of the pinned Helms.
    """
    paths = cache_paths()
    paths.create()
    (program,) = asyncio.run(ensure_built((version,), paths, SilentProgress()))
    return Helm(program, home, kubeconfig)


def objects_in(text: str) -> tuple[Manifest, ...]:
    """Return the objects of a stream of YAML documents."""
    return tuple(document for document in yaml.load_all(text, Loader=_Loader) if document)


class _Loader(yaml.CSafeLoader):
    """Reads a lone ``=`` as Helm does: as a text, and not as what YAML 1.1 once meant by it."""


def _text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:value", _text)


def one(objects: tuple[Manifest, ...], kind: str, name: str, namespace: str = "") -> Manifest:
    """Return the object of a kind and name."""
    found = [
        item
        for item in objects
        if item["kind"] == kind
        and item["metadata"]["name"] == name
        and namespace in ("", item["metadata"].get("namespace"))
    ]
    assert len(found) == 1, f"{len(found)} objects are {kind} {name}"
    return found[0]


def of_kind(objects: tuple[Manifest, ...], kind: str) -> tuple[Manifest, ...]:
    """Return the objects of a kind."""
    return tuple(item for item in objects if item["kind"] == kind)


def environment_of(deployment: Manifest) -> dict[str, str]:
    """Return the variables of a Deployment's container that have a value."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {item["name"]: item["value"] for item in container["env"] if "value" in item}
