"""What the Dockerfile makes, made without a container runtime."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import images_dockerfile
import images_sandbox
from images_dockerfile import TARGETS
from images_sandbox import Root


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory for roots; they are large, so none of them outlives the run."""
    if reason := images_sandbox.obstacle():
        pytest.skip(reason)
    directory = tmp_path_factory.mktemp("images")
    # Other users must get through to what is mounted from here.
    for each in (directory, *directory.parents[:2]):
        each.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def foundation(workshop: Path) -> Root:
    """The stage that every image begins with."""
    root = Root.empty(workshop / "build")
    root.build(images_dockerfile.stages()["build"])
    return root


@pytest.fixture(scope="session", params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    """Each image."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def installed(target: str, foundation: Root, workshop: Path) -> Root:
    """The root in which one image's extra is installed."""
    root = foundation.copied(workshop / target)
    root.build(images_dockerfile.stages()[f"install-{target}"])
    return root
