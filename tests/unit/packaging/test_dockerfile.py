"""What the Dockerfile says of its images, as far as it can be read from it."""

import re

import pytest

import images_dockerfile
from images_dockerfile import REPOSITORY, TARGETS
from privatellm_local.packaging.delivery.component import IMAGES, SOURCE

STAGES = images_dockerfile.stages()
USER = "65532:65532"


def test_there_is_a_target_for_every_image_of_ours() -> None:
    """No more and no less than the component delivers."""
    assert set(TARGETS) == {image.name for image in IMAGES if image.ours}
    assert {f"install-{target}" for target in TARGETS} <= STAGES.keys()


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_runs_as_nobody_in_particular(target: str) -> None:
    """By number, so that Kubernetes can see that it is not root; and it starts its own program."""
    line = images_dockerfile.lineage(target)

    assert [value for stage in line for value in stage.values("USER")] == [USER]
    assert images_dockerfile.entry_point(target) == [f"privatellm-{target}"]
    assert not [value for stage in line for value in stage.values("RUN")], (
        "layers hold copies alone"
    )


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_says_what_it_is(target: str) -> None:
    """By the labels of the OCI image specification."""
    labels: dict[str, str] = {}
    for stage in images_dockerfile.lineage(target):
        labels |= stage.pairs("LABEL")

    told = {name.removeprefix("org.opencontainers.image."): value for name, value in labels.items()}
    assert told.keys() == {
        "title",
        "description",
        "vendor",
        "licenses",
        "source",
        "version",
        "revision",
        "base.name",
    }
    assert told["source"] == SOURCE


def test_what_is_installed_is_locked() -> None:
    """Nothing is resolved and nothing compiled while an image is built."""
    commands = [value for stage in STAGES.values() for value in stage.values("RUN")]
    script = (REPOSITORY / "requirements" / "install.sh").read_text()

    for command in (*commands, *script.splitlines()):
        if re.search(r"\bpip (install|--require)", command):
            assert "--require-hashes" in command
            assert "--only-binary=:all:" in command


def test_the_builder_is_sent_only_what_is_copied() -> None:
    """Whatever else lies in a checkout stays there."""
    first, *rest = [
        line
        for line in (REPOSITORY / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    let_in = {line[1:].rstrip("/") for line in rest if line.startswith("!")}
    copied = {
        word.rstrip("/")
        for stage in STAGES.values()
        for value in stage.values("COPY")
        if not value.startswith("--from")
        for word in value.split()[:-1]
    }

    assert first == "*"
    for source in copied:
        assert source in let_in or ("requirements/*.txt" in let_in and source.endswith(".txt")), (
            source
        )


def test_no_base_is_pinned_to_a_digest_that_nobody_looked_up() -> None:
    """A release gives every stage the one that it did look up."""
    text = images_dockerfile.DOCKERFILE.read_text()

    assert "@sha256" not in text.replace("@sha256:…", "")
    bases = {stage.base for stage in STAGES.values()} - STAGES.keys()
    assert bases == {"${PYTHON}", "scratch", "install-${IMAGE}"}
