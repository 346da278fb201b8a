"""OCM's own command line takes the constructor, signs the component, moves it, and notices a forgery.

It runs where ``ocm`` is on the PATH. Its module has a name of its own that not every Go proxy serves, so it
is not built here as the other programs are.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart_helm import REPOSITORY
from privatellm_local.packaging.delivery.charts import packaged_charts
from privatellm_local.packaging.delivery.component import COMPONENT, IMAGES, Release, constructor

VERSION = "0.1.0"
SIGNATURE = "private-llm"

Ocm = Callable[..., str]


@pytest.fixture
def ocm(tmp_path: Path) -> Ocm:
    """The command line, with a configuration as the documentation has it and a fresh key pair."""
    program = shutil.which("ocm")
    if program is None:
        pytest.skip("OCM's command line `ocm` is not installed (https://ocm.software)")
    private, public = tmp_path / "private-key.pem", tmp_path / "public-key.pem"
    generate = "openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out"
    subprocess.run([*generate.split(), str(private)], check=True)
    derive = f"openssl rsa -in {private} -pubout -out {public}"
    subprocess.run(derive.split(), check=True, capture_output=True)
    documented = (REPOSITORY / "ocm" / "ocmconfig.yaml").read_text()
    config = tmp_path / "ocmconfig.yaml"
    config.write_text(
        documented.replace(": PRIVATE", f": {private}").replace(": PUBLIC", f": {public}")
    )

    def run(*arguments: str) -> str:
        finished = subprocess.run(
            [program, "--config", str(config), *arguments],
            cwd=tmp_path,
            env={"HOME": str(tmp_path)},
            capture_output=True,
            check=False,
            text=True,
        )
        if finished.returncode != 0:
            raise OcmError(finished.stderr)
        return finished.stdout

    return run


class OcmError(AssertionError):
    """The command line refused; the message is what it said."""


@pytest.fixture
def archive(tmp_path: Path, ocm: Ocm) -> str:
    """The component of a release in an archive, signed. Nobody is asked for the artifacts that it names."""
    charts = packaged_charts(REPOSITORY)
    names = [*(image.name for image in IMAGES), *(chart.name for chart in charts)]
    release = Release(VERSION, "c" * 40, dict.fromkeys(names, f"sha256:{'a' * 64}"))
    (tmp_path / "component-constructor.yaml").write_text(
        yaml.safe_dump(constructor(charts, release))
    )
    shutil.copy(REPOSITORY / "ocm" / "rgd.yaml", tmp_path)
    ocm("add", "cv", "--repository", "ctf::./made", "--skip-reference-digest-processing")
    ocm("sign", "cv", "--signature", SIGNATURE, f"ctf::./made//{COMPONENT}:{VERSION}")
    return "made"


def describe(ocm: Ocm, archive: str) -> dict[str, Any]:
    """Return the component's descriptor."""
    text = ocm("get", "cv", f"ctf::./{archive}//{COMPONENT}:{VERSION}", "--output", "yaml")
    (descriptor,) = yaml.safe_load(text)
    found: dict[str, Any] = descriptor
    return found


def verify(ocm: Ocm, archive: str) -> None:
    """Check the signature."""
    ocm("verify", "cv", "--signature", SIGNATURE, f"ctf::./{archive}//{COMPONENT}:{VERSION}")


def test_the_constructor_becomes_a_component(ocm: Ocm, archive: str) -> None:
    """With everything that it names, under a signature that fits."""
    component = describe(ocm, archive)["component"]

    names = {resource["name"] for resource in component["resources"]}
    assert {image.name for image in IMAGES} < names
    assert "rgd" in names
    verify(ocm, archive)


def test_a_signature_survives_a_transfer(tmp_path: Path, ocm: Ocm, archive: str) -> None:
    """And what kro will get is byte for byte what lies in the repository."""
    ocm("transfer", "cv", f"ctf::./{archive}//{COMPONENT}:{VERSION}", "ctf::./moved")

    verify(ocm, "moved")
    place = f"ctf::./moved//{COMPONENT}:{VERSION}"
    ocm("download", "resource", place, "--identity", "name=rgd", "--output", "rgd.out")
    assert (tmp_path / "rgd.out").read_bytes() == (REPOSITORY / "ocm" / "rgd.yaml").read_bytes()


def test_the_signature_covers_where_an_image_goes(tmp_path: Path, ocm: Ocm, archive: str) -> None:
    """A component with one digest changed is another one, and the old signature does not fit it."""
    signed = describe(ocm, archive)
    forged = yaml.safe_load((tmp_path / "component-constructor.yaml").read_text())
    (only,) = forged["components"]
    operator = next(r for r in only["resources"] if r["name"] == "operator")
    operator["access"]["imageReference"] = operator["access"]["imageReference"].replace(
        "a" * 64, "b" * 64
    )
    operator["digest"]["value"] = "b" * 64
    (tmp_path / "component-constructor.yaml").write_text(yaml.safe_dump(forged))
    ocm("add", "cv", "--repository", "ctf::./forged", "--skip-reference-digest-processing")
    ocm("sign", "cv", "--signature", SIGNATURE, f"ctf::./forged//{COMPONENT}:{VERSION}")

    (before,), (after,) = signed["signatures"], describe(ocm, "forged")["signatures"]

    assert before["digest"]["value"] != after["digest"]["value"]
