"""A release of the chart on an embedded environment that was started without the platform."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import embedded
from chart_helm import CHART, NAMESPACE, RELEASE, Helm, Manifest, Values, objects_in
from privatellm_local import demo, state
from privatellm_local.paths import StatePaths, cache_paths
from privatellm_local.pki import inventory

WAIT = ("--wait", "--timeout", "150s")


def environment_values(environment: embedded.Environment) -> Values:
    """Return the values that an embedded environment needs: loopback, no DNS, no images."""
    remembered = state.load(StatePaths(environment.state))
    assert remembered is not None
    plan = remembered.addresses
    model = demo_model()
    return {
        "PUBLIC_HOST": f"127.0.0.1:{plan.edge}",
        "bindHost": "$(POD_IP)",
        "authserver": {"service": {"clusterIP": str(plan.authserver_service)}, "workers": 1},
        # Kubernetes looks at a namespace that goes again after half the grace period of its pods.
        "server": {"allowFileSources": True, "gracePeriodSeconds": 10},
        "catalogue": {"models": {model["metadata"]["name"]: model["spec"]}},
        "admissionPolicies": {"breakGlassGroups": ["system:masters", inventory.ADMINISTRATORS]},
        "traefik": {"enabled": False},
    }


def demo_model() -> Manifest:
    """Return the demo's model, whose file is on this machine."""
    file = asyncio.run(demo.prepare_model(cache_paths().models, lambda _: None))
    return demo.model_manifest(file)


@dataclass(frozen=True, slots=True)
class Release:
    """One release, by its name and namespace."""

    helm: Helm
    values: Values
    name: str = RELEASE
    namespace: str = NAMESPACE

    async def install(self, chart: Path = CHART, *options: str) -> str:
        """Install the chart and wait until everything in it is ready."""
        return await self._run(
            "install", self.name, str(chart), "--create-namespace", *WAIT, *options
        )

    async def upgrade(self, chart: Path = CHART, *options: str) -> str:
        """Upgrade the release and wait until everything in it is ready."""
        return await self._run("upgrade", self.name, str(chart), *WAIT, *options)

    async def rollback(self, revision: int) -> str:
        """Go back to a revision and wait until everything in it is ready."""
        arguments = ("rollback", self.name, str(revision), "-n", self.namespace, *WAIT)
        return await asyncio.to_thread(self.helm.run, *arguments)

    async def uninstall(self) -> str:
        """Uninstall the release and wait until its objects are gone."""
        arguments = ("uninstall", self.name, "-n", self.namespace, *WAIT, "--ignore-not-found")
        return await asyncio.to_thread(self.helm.run, *arguments)

    async def manifest(self) -> tuple[Manifest, ...]:
        """Return what Helm installed."""
        arguments = ("get", "manifest", self.name, "-n", self.namespace)
        return objects_in(await asyncio.to_thread(self.helm.run, *arguments))

    async def _run(self, command: str, *arguments: str) -> str:
        return await asyncio.to_thread(
            self.helm.run, command, *arguments, "-n", self.namespace, values=self.values
        )


def previous_chart(directory: Path) -> Path:
    """Return the chart as an older version of it would be: one field of a CRD was not there yet.

    Args:
        directory: Where the copy goes.
    """
    chart = directory / "previous"
    shutil.copytree(CHART, chart)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about | {"version": "0.0.9"}))
    file = chart / "files" / "crds" / "apitokenrequests.yaml"
    crd = yaml.safe_load(file.read_text())
    del spec_of(crd)["description"]
    file.write_text(yaml.safe_dump(crd, sort_keys=False))
    return chart


def spec_of(crd: Manifest) -> dict[str, Any]:
    """Return the fields of a kind's spec."""
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields: dict[str, Any] = schema["properties"]["spec"]["properties"]
    return fields


async def kubectl(
    kubeconfig: Path, *arguments: str, objects: Sequence[Manifest] = ()
) -> subprocess.CompletedProcess[str]:
    """Run kubectl and return how it went.

    Args:
        kubeconfig: Whose credentials.
        arguments: Its arguments.
        objects: Objects for its standard input.
    """
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("kubectl")),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
    )
    listing = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    out, err = await process.communicate(json.dumps(listing).encode() if objects else b"")
    code = process.returncode
    return subprocess.CompletedProcess(arguments, code or 0, out.decode(), err.decode())
