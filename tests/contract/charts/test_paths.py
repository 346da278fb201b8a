"""Every path that the chart gives to a container lies below one of its mounts.

A container's own file system is read-only, and the host node of the embedded environment refuses other
paths, because there they would be the user's files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chart_helm import Helm, Manifest
from privatellm_local.node.confinement import Confinement
from privatellm_local.node.paths import PathMap

EVERYTHING: dict[str, Any] = {
    "PUBLIC_HOST": "llm.example.com",
    "modelCache": {"mode": "hostPath", "directory": "/var/lib/private-llm/models"},
}


def containers(objects: tuple[Manifest, ...]) -> Iterator[Manifest]:
    """Yield every container of every workload."""
    for item in objects:
        template = item.get("spec", {}).get("template", {}).get("spec", {})
        yield from template.get("initContainers", ())
        yield from template.get("containers", ())


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "a cache on the nodes"])
def test_every_path_is_below_a_mount(helm: Helm, values: dict[str, Any]) -> None:
    """In arguments and in variables; a directory of the nodes is the operator's to name."""
    shared = Path(values.get("modelCache", {}).get("directory", "/nowhere"))
    found = list(containers(helm.template(values)))

    for container in found:
        mounts = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
        paths = PathMap({mount: Path("/pod", f"{n}") for n, mount in enumerate(mounts)})
        confined = Confinement.of([*paths.places.values(), shared], mounts)
        texts = {
            variable["name"]: variable.get("value", "") for variable in container.get("env", ())
        }
        confined.check_variables({name: paths.rewrite(text) for name, text in texts.items()})
        confined.check_arguments(map(paths.rewrite, container.get("args", ())))
    assert len(found) >= 2
