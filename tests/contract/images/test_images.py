"""Each image runs as an unprivileged user who can write nothing, and holds only what it needs."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx
import pytest

import images_dockerfile
from bare_servers import free_ports, write_kubeconfig
from eventually import eventually
from images_dockerfile import REPOSITORY
from images_sandbox import Root
from privatellm_local.packaging.delivery.normalising import normalised

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

USER = 65532
STOP_SECONDS = 30
AGENT = "--agent-name=private-llm"
FRAMEWORKS = {"operator": "kopf", "authserver": "fastapi"}
"""What only one image needs."""


@pytest.fixture
def mounted(workshop: Path, tmp_path: Path) -> Path:
    """What a pod has mounted: a platform key, and a kubeconfig of a server that does not answer."""
    directory = workshop / f"mounted-{tmp_path.name}"
    directory.mkdir()
    write_kubeconfig(
        directory / "kubeconfig", "https://127.0.0.1:1/clusters/root:provider", "token"
    )
    (directory / "platform-key").write_text("a platform key of the tests, long enough")
    return directory


def environment(target: str) -> dict[str, str]:
    """Return the variables that an image sets."""
    pairs: dict[str, str] = {}
    for stage in images_dockerfile.lineage(target):
        pairs |= stage.pairs("ENV")
    return pairs


def run(root: Root, target: str, *command: str, mounted: Path | None = None) -> str:
    """Run a command in an image and return what it printed."""
    finished = subprocess.run(
        root.command(command, user=USER, data=mounted),
        env=environment(target),
        capture_output=True,
        check=False,
        text=True,
        timeout=STOP_SECONDS,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@contextmanager
def started(
    root: Root, target: str, mounted: Path, *arguments: str, **variables: str
) -> Iterator["subprocess.Popen[str]"]:
    """Start what an image starts."""
    command = [*images_dockerfile.entry_point(target), *arguments]
    process = subprocess.Popen(
        root.command(command, user=USER, data=mounted),
        env={**environment(target), "KUBECONFIG": "/srv/kubeconfig", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def user_ids(pid: int) -> set[int]:
    """Return every user id that a process has: real, effective, saved, and the file system's."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("Uid:"))
    return {int(word) for word in line.split()[1:]}


async def until_alive(port: int) -> None:
    """Wait until a process says that it lives."""
    async with httpx.AsyncClient() as http:

        async def alive() -> bool:
            try:
                return (await http.get(f"http://127.0.0.1:{port}/healthz")).is_success
            except httpx.TransportError:
                return False

        await eventually(alive, within=60, what="a process that lives")


@pytest.mark.parametrize("target", ["operator", "authserver"], scope="session")
async def test_a_service_starts_and_ends_in_order(
    target: str, installed: Root, mounted: Path
) -> None:
    """Without the API server it lives and waits; a signal ends it with 0."""
    verify, admin, metrics = free_ports(3)
    settings = {
        "PUBLIC_HOST": "llm.example.com",
        "PRIVATE_LLM_PLATFORM_KEY_FILE": "/srv/platform-key",
        "PRIVATE_LLM_BIND_HOST": "127.0.0.1",
        "PRIVATE_LLM_METRICS_PORT": str(metrics),
        "PRIVATE_LLM_VERIFY_PORT": str(verify),
        "PRIVATE_LLM_ADMIN_PORT": str(admin),
        "PRIVATE_LLM_DRAIN_SECONDS": "0",
    }
    with started(installed, target, mounted, **settings) as process:
        await until_alive(metrics if target == "operator" else admin)
        assert user_ids(process.pid) == {USER}

        process.terminate()

        assert process.wait(STOP_SECONDS) == 0


@pytest.mark.parametrize("target", ["sync-agent"], scope="session")
def test_the_agent_starts_and_asks_kcp(target: str, installed: Root, mounted: Path) -> None:
    """Its first step is to look up its endpoints; without them it ends and says which."""
    arguments = ("--kcp-kubeconfig=/srv/kubeconfig", "--namespace=private-llm-system", AGENT)
    slices = "--apiexportendpointslice-ref=llm.privatellms.msp"
    with started(installed, target, mounted, *arguments, slices) as process:
        said, _ = process.communicate(timeout=STOP_SECONDS)

    assert process.returncode == 1
    last = json.loads(said.splitlines()[-1])
    assert "apiexportendpointslices/llm.privatellms.msp" in last["error"]


@pytest.mark.parametrize("target", ["operator"], scope="session")
def test_the_operators_image_fetches_models(target: str, installed: Root, mounted: Path) -> None:
    """It is the image of the init container in every model pod."""
    weights = b"GGUF" + bytes(1000)
    (mounted / "weights.gguf").write_bytes(weights)
    digest = hashlib.sha256(weights).hexdigest()
    fetch = f"privatellm-fetch --path /srv/weights.gguf --output /tmp/model --sha256 {digest}"

    said = run(
        installed, target, "sh", "-ec", f"{fetch} >&2; sha256sum /tmp/model", mounted=mounted
    )

    assert said.startswith(digest)


def test_nothing_but_tmp_can_be_written(target: str, installed: Root) -> None:
    """Not even what belongs to the image's own user, of which there is nothing."""
    attempts = (
        "for d in / /opt/private-llm /etc /var/tmp; do ! touch $d/x 2>/dev/null; done; touch /tmp/x"
    )

    run(installed, target, "sh", "-ec", attempts)

    assert run(installed, target, "find", "/opt/private-llm", "-uid", str(USER)) == ""


def test_only_the_targets_extra_is_installed(target: str, installed: Root) -> None:
    """Everything is in its requirement file, and the frameworks of others are not there."""
    requirements = (REPOSITORY / "requirements" / f"{target}.txt").read_text()
    locked = {normalised(line.split("==")[0]) for line in requirements.splitlines() if "==" in line}
    there = set(distributions(installed))

    assert there - locked == {"private-llm"}
    for image, framework in FRAMEWORKS.items():
        assert (framework in there) is (image == target)
    assert not there & {"pip", "setuptools", "hatchling"}


def test_byte_code_is_there_and_carries_no_time(target: str, installed: Root) -> None:
    """A read-only root could not keep it, and times would make every build another one."""
    (cached,) = installed.opt.glob(
        "private-llm/lib/python*/site-packages/privatellm/__pycache__/names.*"
    )

    flags = int.from_bytes(cached.read_bytes()[4:8], "little")

    assert flags == 0b01, "hash-based and unchecked"


def test_the_list_of_contents_is_what_is_installed(target: str, installed: Root) -> None:
    """As CycloneDX, made by the image's own Python."""
    module = "privatellm_local.packaging.delivery.sbom"
    python = "/opt/private-llm/bin/python"

    listed = json.loads(run(installed, target, python, "-m", module, target))

    assert listed["bomFormat"] == "CycloneDX"
    assert listed["metadata"]["component"]["name"] == f"private-llm/{target}"
    found = {component["name"]: component["version"] for component in listed["components"]}
    assert found == distributions(installed)


def distributions(root: Root) -> dict[str, str]:
    """Return the version of everything that pip left in a root."""
    (packages,) = root.opt.glob("private-llm/lib/python*/site-packages")
    found = metadata.distributions(path=[str(packages)])
    return {normalised(each.metadata["Name"]): each.version for each in found}


@pytest.mark.parametrize("target", ["sync-agent"], scope="session")
def test_a_second_build_is_the_same(
    target: str, installed: Root, foundation: Root, workshop: Path
) -> None:
    """Byte by byte, from the same requirements and the same source."""
    again = foundation.copied(workshop / "again")
    again.build(images_dockerfile.stages()[f"install-{target}"])

    assert _digests(again) == _digests(installed)


def _digests(root: Root) -> dict[str, Any]:
    top = root.opt / "private-llm"
    return {
        str(path.relative_to(top)): (
            path.stat().st_mode,
            hashlib.sha256(path.read_bytes()).digest(),
        )
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def test_this_python_stands_for_the_images(foundation: Root) -> None:
    """The stand-in is of the version that the Dockerfile asks for, so the same wheels are chosen."""
    text = images_dockerfile.DOCKERFILE.read_text()

    assert f"python:{sys.version_info.major}.{sys.version_info.minor}-slim" in text
