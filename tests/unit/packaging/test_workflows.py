"""Workflows run what was reviewed: pinned actions, small rights, scripts that a shell can read."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from privatellm_local.packaging.delivery.component import COMPONENT, IMAGES, REGISTRY

ROOT = Path(__file__).parents[3]
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text()) for path in ROOT.glob(".github/workflows/*.yml")
}
PINNED = re.compile(r"^[\w./-]+@[0-9a-f]{40}$")
RELEASE = WORKFLOWS["release.yml"]


def steps(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the steps of every job."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


ALL_STEPS = [(name, step) for name, workflow in WORKFLOWS.items() for step in steps(workflow)]


def test_every_action_is_pinned_by_its_commit() -> None:
    """A tag can be moved; and the comment behind it says which tag it was."""
    for name, step in ALL_STEPS:
        if "uses" in step:
            assert PINNED.match(step["uses"]), step["uses"]
            text = (ROOT / ".github" / "workflows" / name).read_text()
            assert re.search(rf"{re.escape(step['uses'])} # v\d+\.\d+\.\d+$", text, re.MULTILINE)


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS.keys())
def test_a_job_has_no_right_that_it_does_not_name(workflow: dict[str, Any]) -> None:
    """The default is to read, and nobody keeps the token in the checkout."""
    assert workflow["permissions"] == {"contents": "read"}
    for step in steps(workflow):
        if "uses" in step:
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS.keys())
def test_a_failure_inside_a_pipe_is_a_failure(workflow: dict[str, Any]) -> None:
    """A push whose output is kept would otherwise always succeed."""
    assert workflow["defaults"]["run"]["shell"] == "bash"


def test_scripts_take_nothing_by_substitution() -> None:
    """A branch's name in a script would be a script; variables are texts."""
    for name, step in ALL_STEPS:
        assert "${{" not in step.get("run", ""), (name, step)


def test_a_shell_can_read_every_script() -> None:
    """They run only at a release, which is late for a missing quote."""
    for _, step in ALL_STEPS:
        if script := step.get("run"):
            subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_a_release_builds_every_image_of_ours_for_two_architectures() -> None:
    """Natively, on a runner of each."""
    ours = {image.name for image in IMAGES if image.ours}
    matrix = RELEASE["jobs"]["images"]["strategy"]["matrix"]

    assert set(matrix["target"]) == ours
    assert matrix["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    script = "\n".join(step.get("run", "") for step in steps(RELEASE))
    for loop in re.findall(r"for target in ([\w -]+); do", script):
        assert set(loop.split()) == ours


def test_a_release_speaks_of_the_registry_and_component_of_the_constructor() -> None:
    """They are written down twice."""
    assert RELEASE["env"]["REGISTRY"] == REGISTRY
    assert RELEASE["env"]["COMPONENT"] == COMPONENT
    assert f"ARG PYTHON={RELEASE['env']['BASE']}\n" in (ROOT / "Dockerfile").read_text()


def test_nothing_is_pushed_before_the_tests_have_passed() -> None:
    """And the key is only where an approval was needed."""
    jobs = RELEASE["jobs"]

    assert jobs["images"]["needs"] == "check"
    assert "images" in jobs["publish"]["needs"]
    assert jobs["publish"]["environment"] == "release"
    for name, job in jobs.items():
        assert ("secrets." in str(job)) is (name == "publish")


def test_each_job_of_a_release_may_do_its_own_part_and_no_more() -> None:
    """Who runs the tests writes nothing; only who signs gets an identity to sign with."""
    rights = {name: job.get("permissions") for name, job in RELEASE["jobs"].items()}

    assert rights == {
        "check": None,
        "images": {"contents": "read", "packages": "write"},
        "publish": {"contents": "write", "packages": "write", "id-token": "write"},
    }


@pytest.mark.parametrize(
    ("version", "standing"), [("1.2.3", "--latest"), ("1.2.3-rc.1", "--prerelease")], ids=str
)
def test_a_candidate_is_never_offered_as_the_latest_release(version: str, standing: str) -> None:
    """The script's own line decides it."""
    script = next(s["run"] for s in steps(RELEASE) if s.get("name") == "Publish the release")
    (line,) = (line for line in script.splitlines() if line.startswith("case "))

    said = subprocess.run(
        ["bash", "-c", f'{line}\necho "$standing"'],
        env={"VERSION": version},
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout.strip() == standing


def test_tools_that_are_built_have_a_version() -> None:
    """Go's checksum database vouches for them then."""
    for name in ("COSIGN", "OCM"):
        assert re.search(r"@v\d+\.\d+\.\d+$", RELEASE["env"][name])
