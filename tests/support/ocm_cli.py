"""OCM's own command line, configured as the documentation has it.

Its module has a name of its own that not every Go proxy serves, so it is not built here as the other
programs are: it is taken from the PATH.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from chart_helm import REPOSITORY
from privatellm_local.packaging.delivery.component import COMPONENT

SIGNATURE = "private-llm"


class OcmError(AssertionError):
    """The command line refused; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Ocm:
    """The program, and a directory with a key pair and a configuration that names it."""

    program: str
    directory: Path
    version: str

    def run(self, *arguments: str) -> str:
        """Run it and return what it printed.

        Raises:
            OcmError: when it fails.
        """
        finished = subprocess.run(
            [self.program, "--config", str(self.directory / "ocmconfig.yaml"), *arguments],
            cwd=self.directory,
            env={"HOME": str(self.directory)},
            capture_output=True,
            check=False,
            text=True,
        )
        if finished.returncode != 0:
            raise OcmError(finished.stderr)
        return finished.stdout

    def place(self, repository: str) -> str:
        """Return how the component is named in a repository."""
        return f"{repository}//{COMPONENT}:{self.version}"

    def add(self, constructor: dict[str, Any], repository: str, *options: str) -> None:
        """Make the component of a constructor, beside a copy of the graph."""
        text = yaml.safe_dump(constructor)
        (self.directory / "component-constructor.yaml").write_text(text)
        shutil.copy(REPOSITORY / "ocm" / "rgd.yaml", self.directory)
        self.run("add", "cv", "--repository", repository, *options)

    def sign(self, repository: str) -> None:
        """Sign the component."""
        self.run("sign", "cv", "--signature", SIGNATURE, self.place(repository))

    def verify(self, repository: str) -> None:
        """Fail unless the component's signature fits."""
        self.run("verify", "cv", "--signature", SIGNATURE, self.place(repository))

    def descriptor(self, repository: str) -> dict[str, Any]:
        """Return what a repository says of the component."""
        text = self.run("get", "cv", self.place(repository), "--output", "yaml")
        (found,) = yaml.safe_load(text)
        descriptor: dict[str, Any] = found
        return descriptor


def provide(directory: Path, version: str) -> Ocm:
    """Return the command line with a fresh key pair; skip the test where it is not installed."""
    program = shutil.which("ocm")
    if program is None:
        pytest.skip("OCM's command line `ocm` is not installed (https://ocm.software)")
    private, public = directory / "private-key.pem", directory / "public-key.pem"
    generate = "openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out"
    subprocess.run([*generate.split(), str(private)], check=True)
    derive = ["openssl", "rsa", "-in", str(private), "-pubout", "-out", str(public)]
    subprocess.run(derive, check=True, capture_output=True)
    documented = (REPOSITORY / "ocm" / "ocmconfig.yaml").read_text()
    configured = documented.replace(": PRIVATE", f": {private}").replace(": PUBLIC", f": {public}")
    (directory / "ocmconfig.yaml").write_text(configured)
    return Ocm(program, directory, version)
