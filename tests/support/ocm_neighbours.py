"""What the OCM controllers and Flux would do, done by writing the status that they would write.

Their programs cannot be built from modules that are always to be had. The order in which they act, and what
a reader of their objects sees, is all that an installation depends on.
"""

from dataclasses import dataclass
from typing import Any

import ocm_kro
from eventually import eventually
from ocm_definitions import HELM_RELEASE, OCI_REPOSITORY, OCM_RESOURCE
from privatellm.kube import KubeClient
from privatellm.kube.kinds import Kind

Manifest = dict[str, Any]

NOW = "2026-11-30T12:00:00Z"
IMAGES = ("operator", "authserver", "llama-server", "traefik")
CHART_DIGEST = f"sha256:{'c' * 64}"
MIRROR = "mirror.example:5000/private-llm"


def image(name: str) -> dict[str, str]:
    """Return where an image is after a transfer."""
    return {"repository": f"{MIRROR}/{name}", "tag": "0.1.0", "digest": f"sha256:{'a' * 64}"}


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation and the objects that kro makes for it."""

    client: KubeClient
    namespace: str
    name: str = "private-llm"

    async def create(self, **spec: Any) -> Manifest:
        """Create the object that installs everything."""
        return await self.client.create(
            ocm_kro.INSTALLATION,
            {
                "apiVersion": ocm_kro.INSTALLATION.api_version,
                "kind": ocm_kro.INSTALLATION.name,
                "metadata": {"name": self.name, "namespace": self.namespace},
                "spec": {"publicHost": "llm.example.com", **spec},
            },
        )

    async def patch(self, **spec: Any) -> Manifest:
        """Change fields of its spec."""
        return await self.client.patch(
            ocm_kro.INSTALLATION, self.name, self.namespace, {"spec": spec}
        )

    async def delete(self) -> None:
        """Delete it."""
        await self.client.delete(ocm_kro.INSTALLATION, self.name, self.namespace)

    async def status(self) -> Manifest:
        """Return what it says of itself."""
        found = await self.client.get(ocm_kro.INSTALLATION, self.name, self.namespace)
        status: Manifest = (found or {}).get("status", {})
        return status

    async def source(self) -> Manifest | None:
        """Return Flux's object for the chart's place."""
        return await self.client.get(OCI_REPOSITORY, self.name, self.namespace)

    async def release(self) -> Manifest | None:
        """Return Flux's object for the Helm release."""
        return await self.client.get(HELM_RELEASE, self.name, self.namespace)

    async def children(self) -> set[tuple[str, str]]:
        """Return kind and name of everything in the namespace that kro could have made."""
        return {
            (kind.name, item["metadata"]["name"])
            for kind in (OCM_RESOURCE, OCI_REPOSITORY, HELM_RELEASE)
            for item in (await self.client.list(kind, self.namespace)).items
        }

    async def resolve(self, names: tuple[str, ...] = IMAGES) -> None:
        """Resolve images, as the OCM controllers do when a component was transferred."""
        for name in names:
            found = {"additional": {"image": image(name)}}
            await self._ready(OCM_RESOURCE, f"{self.name}-{name}", found)

    async def resolve_chart(self) -> None:
        """Resolve the chart."""
        place = {"repository": f"{MIRROR}/charts/private-llm-operator", "digest": CHART_DIGEST}
        await self._ready(OCM_RESOURCE, f"{self.name}-chart", {"additional": {"chart": place}})

    async def fetch(self) -> None:
        """Fetch the chart, as Flux's source controller does."""
        artifact = {
            "digest": CHART_DIGEST,
            "lastUpdateTime": NOW,
            "path": "ocirepository/chart.tar.gz",
            "revision": f"0.1.0@{CHART_DIGEST}",
            "url": "http://source-controller.flux-system/chart.tar.gz",
        }
        await self._ready(OCI_REPOSITORY, self.name, {"artifact": artifact})

    async def install(self, *, succeeds: bool = True) -> None:
        """Install the chart, as Flux's Helm controller does."""
        action = {
            "name": "private-llm",
            "namespace": "private-llm-system",
            "version": 1,
            "status": "deployed" if succeeds else "failed",
            "chartName": "private-llm-operator",
            "chartVersion": "0.1.0",
            "configDigest": CHART_DIGEST,
            "digest": CHART_DIGEST,
            "firstDeployed": NOW,
            "lastDeployed": NOW,
        }
        await self._ready(HELM_RELEASE, self.name, {"history": [action]}, succeeds=succeeds)

    async def run_through(self) -> Manifest:
        """Let everything succeed and return the Helm release."""
        await self.resolve_chart()
        await self.resolve()
        await self.fetch()
        await self.install()
        release = await self.release()
        assert release is not None
        return release

    async def _ready(
        self, kind: Kind, name: str, status: Manifest, *, succeeds: bool = True
    ) -> None:
        async def exists() -> Manifest | None:
            return await self.client.get(kind, name, self.namespace)

        found = await eventually(exists, what=f"{kind.name} {name}")
        assert found is not None
        condition = {
            "type": "Ready",
            "status": "True" if succeeds else "False",
            "reason": "Succeeded" if succeeds else "InstallFailed",
            "message": f"{kind.name} {name} {'is there' if succeeds else 'failed'}",
            "lastTransitionTime": NOW,
            "observedGeneration": found["metadata"]["generation"],
        }
        patch = {"status": {**status, "conditions": [condition]}}
        await self.client.patch(kind, name, self.namespace, patch, subresource="status")
