"""OCM's own command line takes the constructor, signs the component, and notices a forgery."""

from pathlib import Path
from typing import Any

import pytest

import ocm_cli
from chart_helm import REPOSITORY
from ocm_cli import Ocm
from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import IMAGES, Release, constructor
from privatellm_local.packaging.delivery.versions import version_of

VERSION = version_of(REPOSITORY)
CHARTS = packaged_charts(REPOSITORY)
NAMES = (*(image.name for image in IMAGES), *(chart.name for chart in CHARTS))
MADE = "ctf::./made"


def component(**digests: str) -> dict[str, Any]:
    """Return the constructor of a release with made-up digests."""
    known = dict.fromkeys(NAMES, f"sha256:{'a' * 64}") | digests
    return constructor(CHARTS, Release(VERSION, "c" * 40, known))


@pytest.fixture
def ocm(tmp_path: Path) -> Ocm:
    """The command line."""
    return ocm_cli.provide(tmp_path, VERSION)


@pytest.fixture
def signed(ocm: Ocm) -> Ocm:
    """The command line, and a signed component in :data:`MADE`. Nobody is asked for the artifacts."""
    ocm.add(component(), MADE, "--skip-reference-digest-processing")
    ocm.sign(MADE)
    return ocm


def test_the_constructor_becomes_a_component(signed: Ocm) -> None:
    """With everything that it names, under a signature that fits."""
    resources = signed.descriptor(MADE)["component"]["resources"]

    assert {resource["name"] for resource in resources} == {*NAMES, "rgd"}
    signed.verify(MADE)


def test_kro_gets_what_lies_in_the_repository(signed: Ocm) -> None:
    """Byte by byte, also after a transfer."""
    signed.run("transfer", "cv", signed.place(MADE), "ctf::./moved")

    signed.verify("ctf::./moved")
    wanted = ("--identity", "name=rgd", "--output", "rgd.out")
    signed.run("download", "resource", signed.place("ctf::./moved"), *wanted)
    ours = (REPOSITORY / "ocm" / "rgd.yaml").read_bytes()
    assert (signed.directory / "rgd.out").read_bytes() == ours


def test_the_signature_covers_the_digest_of_every_image(signed: Ocm) -> None:
    """A component with one of them changed is another one."""
    forged = "ctf::./forged"
    other = component(operator=f"sha256:{'b' * 64}")
    signed.add(other, forged, "--skip-reference-digest-processing")
    signed.sign(forged)

    (before,) = signed.descriptor(MADE)["signatures"]
    (after,) = signed.descriptor(forged)["signatures"]
    assert before["digest"]["value"] != after["digest"]["value"]
