"""The component goes into a disconnected site as the how-to says, and nothing is missing there."""

import json
from pathlib import Path

import pytest

import ocm_cli
from chart_helm import REPOSITORY
from ocm_cli import Ocm
from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import IMAGES, Release, constructor
from privatellm_local.packaging.delivery.versions import version_of
from release_registry import Registry

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]

VERSION = version_of(REPOSITORY)
CHARTS = packaged_charts(REPOSITORY)
ARCHIVE = "ctf::./private-llm.ctf"
PUBLIC = ("ghcr.io", "docker.io")


@pytest.fixture
def ocm(tmp_path: Path) -> Ocm:
    """The command line."""
    return ocm_cli.provide(tmp_path, VERSION)


@pytest.fixture
def digests(outside: Registry, pushed_charts: dict[str, str]) -> dict[str, str]:
    """The digest of everything that a release has pushed, images and charts."""
    plain = constructor(CHARTS, Release(VERSION))["components"][0]["resources"]
    places = {r["name"]: r["access"]["imageReference"] for r in plain if "access" in r}
    pushed = dict(pushed_charts)
    for image in IMAGES:
        repository, _, tag = places[image.name].partition("/")[2].rpartition(":")
        pushed[image.name] = outside.push_image(repository, tag, image.name.encode())
    return pushed


def test_a_transfer_is_complete_and_keeps_its_signature(
    ocm: Ocm, outside: Registry, inside: Registry, digests: dict[str, str]
) -> None:
    """Out of the registry into an archive, and from there into the site's registry."""
    made = json.dumps(constructor(CHARTS, Release(VERSION, "c" * 40, digests)))
    for public in PUBLIC:
        made = made.replace(f"{public}/", f"{outside.url}/")
    ocm.add(json.loads(made), "ctf::./made")
    ocm.sign("ctf::./made")
    ocm.run("transfer", "cv", ocm.place("ctf::./made"), outside.url)

    ocm.run("transfer", "cv", "--copy-resources", ocm.place(outside.url), ARCHIVE)
    ocm.verify(ARCHIVE)
    upload = ("--copy-resources", "--upload-as", "ociArtifact")
    ocm.run("transfer", "cv", *upload, ocm.place(ARCHIVE), inside.url)

    ocm.verify(inside.url)
    there = {r["name"]: r for r in ocm.descriptor(inside.url)["component"]["resources"]}
    assert there.keys() == digests.keys() | {"rgd"}
    for name, digest in digests.items():
        reference = there[name]["access"]["imageReference"].removeprefix(f"{inside.url}/")
        repository, _, tag = reference.rpartition(":")
        assert inside.digest(repository, tag) == digest, name
        assert there[name]["digest"]["value"] == digest.removeprefix("sha256:")
