"""The constructor of the OCM component: every image, every chart, the source, and what installs them.

A transfer copies what the component names, so what is missing here is missing in a disconnected site. The
lists are therefore taken from the charts, and an image that a chart's values name without an entry in
:data:`IMAGES` is an error rather than an omission. Model weights are deliberately left out: they are
gigabytes under licences of their own, and a site chooses which ones it takes.

The constructor in the repository names tags. A release knows the digests of what it pushed and writes its
own, in which every reference ends in one. The form is that of OCM's constructor schema v1.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from privatellm_local.packaging.delivery.charts import PackagedChart
from privatellm_local.packaging.delivery.errors import DeliveryError
from privatellm_local.packaging.delivery.versions import VERSION

Manifest = dict[str, Any]

COMPONENT = "llm.privatellms.msp/private-llm"
REGISTRY = "ghcr.io/private-llm"
CHART_REGISTRY = f"{REGISTRY}/charts"
PROVIDER = "private-llm"
SOURCE = "https://github.com/private-llm/private-llm"
GRAPH_FILE = "rgd.yaml"

VALUES_PATH_LABEL = "llm.privatellms.msp/values-path"
"""Says which value of which chart takes the image, as ``<chart>:<path>``; the signature covers it."""


@dataclass(frozen=True, slots=True)
class Image:
    """One image: what the component calls it, and which value of which chart takes it."""

    name: str
    chart: str
    path: str
    ours: bool = True

    @property
    def value(self) -> str:
        """The chart and the path of its value."""
        return f"{self.chart}:{self.path}"


OPERATOR_CHART = "private-llm-operator"

IMAGES = (
    Image("operator", OPERATOR_CHART, "image"),
    Image("authserver", OPERATOR_CHART, "authserver.image"),
    Image("llama-server", OPERATOR_CHART, "server.image", ours=False),
    Image("traefik", OPERATOR_CHART, "traefik.image", ours=False),
    Image("sync-agent", "private-llm-sync-agent", "image"),
)


@dataclass(frozen=True, slots=True)
class Release:
    """What a release knows and the repository does not.

    Attributes:
        version: The version of everything.
        commit: The source's commit; empty outside a release.
        digests: ``sha256:…`` of images and charts, by the resource's name.
    """

    version: str
    commit: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)


def constructor(charts: Iterable[PackagedChart], release: Release) -> Manifest:
    """Return the constructor.

    Raises:
        DeliveryError: when the charts name an image without an entry in :data:`IMAGES`, an entry has no
            such value, or a digest belongs to nothing.
    """
    by_name = {chart.name: chart for chart in charts}
    _require_every_image(by_name)
    resources = [
        *(_image(image, by_name[image.chart], release) for image in IMAGES),
        *(_chart(chart, release) for chart in by_name.values()),
        _graph(release),
    ]
    _require_known({resource["name"] for resource in resources}, release)
    return {"components": [_component(resources, release)]}


def foreign_images(charts: Iterable[PackagedChart]) -> dict[str, str]:
    """Return the references of images that others build, by their names in the component."""
    by_name = {chart.name: chart for chart in charts}
    return {
        image.name: _reference(image, by_name[image.chart]) for image in IMAGES if not image.ours
    }


def _component(resources: list[Manifest], release: Release) -> Manifest:
    return {
        "name": COMPONENT,
        "version": release.version,
        "provider": {"name": PROVIDER},
        "labels": [
            _label("org.opencontainers.image.licenses", "Apache-2.0"),
            _label("org.opencontainers.image.documentation", f"{SOURCE}/tree/main/docs"),
        ],
        "sources": [_source(release)],
        "resources": resources,
    }


def _source(release: Release) -> Manifest:
    commit = {"commit": release.commit} if release.commit else {}
    return {
        "name": "private-llm",
        "type": "git",
        "version": release.version,
        "access": {
            "type": "gitHub",
            "repoUrl": SOURCE.removeprefix("https://"),
            "ref": f"refs/tags/v{release.version}",
            **commit,
        },
    }


def _image(image: Image, chart: PackagedChart, release: Release) -> Manifest:
    reference = _reference(image, chart)
    tag = reference.rpartition(":")[2]
    return {
        "name": image.name,
        "type": "ociImage",
        # A tag of others need not be a version, and OCM wants one.
        "version": tag if re.fullmatch(f"v?{VERSION}", tag) else release.version,
        "relation": "local" if image.ours else "external",
        "labels": [_label(VALUES_PATH_LABEL, image.value)],
        **({"srcRefs": [_source_reference()]} if image.ours else {}),
        **_oci(reference, release.digests.get(image.name)),
    }


def _reference(image: Image, chart: PackagedChart) -> str:
    value = chart.images[image.path]
    return f"{value['repository']}:{value['tag'] or chart.app_version}"


def _chart(chart: PackagedChart, release: Release) -> Manifest:
    return {
        "name": chart.name,
        "type": "helmChart",
        "version": chart.version,
        "relation": "local",
        "srcRefs": [_source_reference()],
        **_oci(f"{CHART_REGISTRY}/{chart.name}:{chart.version}", release.digests.get(chart.name)),
    }


def _graph(release: Release) -> Manifest:
    return {
        "name": "rgd",
        "type": "blob",
        "version": release.version,
        "relation": "local",
        "srcRefs": [_source_reference()],
        "input": {"type": "file", "path": GRAPH_FILE, "mediaType": "application/yaml"},
    }


def _oci(reference: str, digest: str | None) -> Manifest:
    """Return how an artifact is reached, and its digest where that is known."""
    if digest is None:
        return {"access": {"type": "ociArtifact", "imageReference": reference}}
    algorithm, _, value = digest.partition(":")
    if algorithm != "sha256" or len(value) != 64:  # noqa: PLR2004 - hexadecimal digits of SHA-256
        raise DeliveryError(
            f"A digest is `sha256:` and 64 digits; {reference} got {digest!r}. "
            "Take it from what the registry answered to the push."
        )
    return {
        "access": {"type": "ociArtifact", "imageReference": f"{reference}@{digest}"},
        "digest": {
            "hashAlgorithm": "SHA-256",
            # What OCM's command line gives an artifact that it uploads: with `ociArtifactDigest/v1` the
            # signature would no longer fit after a transfer.
            "normalisationAlgorithm": "genericBlobDigest/v1",
            "value": value,
        },
    }


def _label(name: str, value: str) -> Manifest:
    return {"name": name, "value": value, "version": "v1", "signing": True}


def _source_reference() -> Manifest:
    return {"identitySelector": {"name": "private-llm"}}


def _require_every_image(charts: Mapping[str, PackagedChart]) -> None:
    named = {f"{chart.name}:{path}" for chart in charts.values() for path in chart.images}
    listed = {image.value for image in IMAGES}
    if named != listed:
        raise DeliveryError(
            "The component holds every image of the charts and no other; it lacks "
            f"{sorted(named - listed)} and has too many with {sorted(listed - named)}. Put IMAGES right."
        )


def _require_known(names: set[str], release: Release) -> None:
    if stray := sorted(release.digests.keys() - names):
        raise DeliveryError(
            f"Every digest belongs to a resource of the component; {stray} do not. "
            f"The resources are {sorted(names)}."
        )
