import json
import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from node_builders import config, facts, pod
from privatellm.kube import KubeClient
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.pods.launch import Launcher, Prepared
from privatellm_local.node.process import ExitStatus
from privatellm_local.node.sources import Sources
from privatellm_local.node.tokens import TokenStore
from privatellm_local.node.volumes import SERVICE_ACCOUNT_PATH, PlannedVolume

TELL = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))"


@pytest.fixture
def launcher(tmp_path: Path) -> Launcher:
    """A launcher with one program, and no API server because nothing here asks one."""
    tell = {"image": "tell", "exec": [sys.executable, "-c", TELL]}
    its = config(root_dir=str(tmp_path), images=[tell])
    return Launcher(its, cast("KubeClient", None), cast("TokenStore", None))


def json_of(path: str) -> dict[str, Any]:
    """Read a file that a container is pointed to."""
    document: dict[str, Any] = json.loads(Path(path).read_text())
    return document


async def told(
    launcher: Launcher, container: dict[str, Any], **volumes: Path
) -> tuple[list[str], dict[str, str], str]:
    """Run a container to its end and return its arguments, environment and directory."""
    subject = pod({"name": "main", "image": "tell:1", **container})
    planned = {name: PlannedVolume(path) for name, path in volumes.items()}
    prepared = Prepared(facts(subject), Sources(), planned)
    process = await launcher.start(subject.spec.containers[0], prepared, run=0)
    assert await process.wait() == ExitStatus(0)
    log = launcher.container_dir(subject, "main") / "0.log"
    arguments, environment, directory = json.loads(log.read_text())
    return arguments, environment, directory


async def test_a_container_gets_its_arguments_and_a_directory_of_its_own(
    launcher: Launcher, tmp_path: Path
) -> None:
    """Mount paths are those of this machine, and nothing of the agent's place shows."""
    container = {
        "args": ["--model=/models/x", "$(POD_IP)"],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "volumeMounts": [{"name": "models", "mountPath": "/models"}],
    }

    arguments, environment, directory = await told(launcher, container, models=tmp_path / "m")

    assert arguments == [f"--model={tmp_path}/m/x", "127.111.0.7"]
    assert Path(directory).is_relative_to(tmp_path)
    assert environment["HOME"] == directory
    assert Path(environment["TMPDIR"]).is_relative_to(directory)
    assert environment["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"
    assert environment["KUBERNETES_SERVICE_PORT"] == "6443"


async def test_only_a_few_harmless_variables_are_inherited(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is found by the agent's PATH; its credentials stay with it."""
    monkeypatch.setenv("KUBECONFIG", "/root/admin")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")

    _, environment, _ = await told(launcher, {"env": [{"name": "PATH", "value": "/evil"}]})

    assert environment["PATH"] == os.environ["PATH"]
    assert not {"KUBECONFIG", "AWS_SECRET_ACCESS_KEY"} & environment.keys()


async def test_a_mounted_tmp_is_where_temporary_files_go(
    launcher: Launcher, tmp_path: Path
) -> None:
    """A read-only container writes nowhere else."""
    container = {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}  # noqa: S108 - a pod's

    _, environment, _ = await told(launcher, container, tmp=tmp_path / "t")

    assert environment["TMPDIR"] == str(tmp_path / "t")


async def test_a_pod_with_a_token_gets_a_kubeconfig_that_names_its_file(
    launcher: Launcher, tmp_path: Path
) -> None:
    """The in-cluster path of the client libraries does not exist on this machine."""
    container = {"volumeMounts": [{"name": "access", "mountPath": SERVICE_ACCOUNT_PATH}]}

    _, environment, _ = await told(launcher, container, access=tmp_path / "access")

    document = json_of(environment["KUBECONFIG"])
    assert document["users"][0]["user"] == {"tokenFile": str(tmp_path / "access" / "token")}
    mounts = json.loads(environment["PRIVATE_LLM_VOLUME_MOUNTS"])
    assert mounts[SERVICE_ACCOUNT_PATH] == str(tmp_path / "access")


async def test_a_sub_path_that_is_not_there_is_made(launcher: Launcher, tmp_path: Path) -> None:
    """As a kubelet makes it."""
    container = {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a/b"}]}

    await told(launcher, container, v=tmp_path / "v")

    assert (tmp_path / "v" / "a" / "b").is_dir()


@pytest.mark.parametrize(
    ("container", "said"),
    [
        ({"restartPolicy": "Always"}, "sidecars"),
        ({"readinessProbe": {"grpc": {"port": 1}}}, "probes"),
        ({"image": "other"}, "tell"),
    ],
)
async def test_what_cannot_be_run_as_written_is_not_run(
    launcher: Launcher, container: dict[str, Any], said: str
) -> None:
    """And leaves nothing behind."""
    with pytest.raises(ContainerRefusedError, match=said):
        await told(launcher, container)

    assert not (launcher.config.root_dir / "pods").exists()


@pytest.mark.parametrize(
    "container",
    [
        {"args": ["--path", "/home/you/.ssh/id_rsa"]},
        {"args": ["--output=/etc/cron.d/x"]},
        {"args": ["$(A)$(B)"], "env": [{"name": "A", "value": "/et"}, {"name": "B", "value": "c"}]},
        {"env": [{"name": "LLAMA_ARG_MODEL", "value": "/home/you/.bashrc"}]},
        {"env": [{"name": "NETRC", "value": "/root/.netrc"}]},
        {"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]},
        {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
        {"envFrom": [{"configMapRef": {"name": "c"}}]},
        {
            "env": [
                {
                    "name": "X",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['path']"}},
                }
            ]
        },
    ],
)
async def test_a_container_that_names_files_of_the_user_does_not_run(
    launcher: Launcher, container: dict[str, Any]
) -> None:
    """Whether they stand in an argument, a variable, or an object that a variable comes from."""
    subject = pod(
        {"name": "main", "image": "tell:1", **container},
        metadata={"annotations": {"path": "/etc/passwd"}},
    )
    objects = Sources(secrets={"s": {"k": b"/etc/x"}}, config_maps={"c": {"k": b"/etc/x"}})

    with pytest.raises(ContainerRefusedError, match="own mounts"):
        await launcher.start(subject.spec.containers[0], Prepared(facts(subject), objects, {}), 0)

    assert not (launcher.container_dir(subject, "main") / "0.log").exists()


async def test_a_container_without_a_mount_of_tmp_has_its_own(launcher: Launcher) -> None:
    """What it calls /tmp is never the machine's."""
    arguments, environment, directory = await told(
        launcher,
        {"args": ["/tmp/x"]},  # noqa: S108 - a pod's
    )

    assert arguments == [f"{environment['TMPDIR']}/x"]
    assert Path(arguments[0]).is_relative_to(directory)


async def test_what_the_node_shares_by_host_path_may_be_named(
    launcher: Launcher, tmp_path: Path
) -> None:
    """Every pod could mount it, and the catalogue of a laptop names its weights by it."""
    shared = tmp_path / "shared"
    its = launcher.config.model_copy(update={"host_path_roots": (shared,)})
    url = (shared / "m.gguf").as_uri()

    arguments, _, _ = await told(
        Launcher(its, launcher.client, launcher.tokens), {"args": ["--url", url]}
    )

    assert arguments == ["--url", url]
