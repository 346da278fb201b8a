from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from node_builders import container, facts, pod
from privatellm_local.node.errors import ContainerRefusedError
from privatellm_local.node.pod import TokenSource
from privatellm_local.node.sources import References, Sources, references
from privatellm_local.node.volumes import PlannedVolume, VolumePlanner, mounts

TOKEN = TokenSource(path="token", expiration_seconds=3607)
SOURCES = Sources(
    secrets={"s": {"a": b"1", "b": b"2"}},
    config_maps={"c": {"ca.crt": b"PEM"}},
    claims={"data": Path("/host/volumes/pvc-1")},
    tokens={TOKEN: "eyJ"},
)


def planned(*volumes: dict[str, Any], roots: tuple[Path, ...] = ()) -> dict[str, PlannedVolume]:
    planner = VolumePlanner(Path("/host/pod"), facts(pod(volumes=volumes)), SOURCES, roots)
    return dict(planner.plan())


def text_files(volume: PlannedVolume) -> dict[str, bytes]:
    return {str(path): contents for path, contents in (volume.files or {}).items()}


def test_every_volume_is_a_directory_of_its_own() -> None:
    """Except a claimed one, which is where its volume is."""
    found = planned(
        {"name": "scratch", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
    )

    assert found == {
        "scratch": PlannedVolume(Path("/host/pod/scratch")),
        "data": PlannedVolume(Path("/host/volumes/pvc-1")),
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"secret": {"secretName": "s"}}, {"a": b"1", "b": b"2"}),
        (
            {"secret": {"secretName": "s", "items": [{"key": "a", "path": "deep/er"}]}},
            {"deep/er": b"1"},
        ),
        ({"secret": {"secretName": "absent", "optional": True}}, {}),
        ({"configMap": {"name": "c"}}, {"ca.crt": b"PEM"}),
        (
            {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"l": b"web-1"},
        ),
    ],
)
def test_files_come_from_other_objects(source: dict[str, Any], expected: dict[str, bytes]) -> None:
    """Keys become files, or the paths that the items give them."""
    assert expected == text_files(planned({"name": "v", **source})["v"])


def test_a_projected_volume_is_the_union_of_its_sources() -> None:
    """This is the volume that admission adds to every pod with a service account."""
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "c", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]
            }
        },
    ]

    found = planned({"name": "v", "projected": {"sources": sources}})["v"]

    assert text_files(found) == {"token": b"eyJ", "ca.crt": b"PEM", "namespace": b"shop"}


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ({"secret": {"secretName": "absent"}}, "Secret absent does not exist"),
        ({"secret": {"secretName": "s", "items": [{"key": "z", "path": "z"}]}}, "no key z"),
        ({"secret": {"secretName": "s", "items": [{"key": "a", "path": "../a"}]}}, "relative"),
        ({"persistentVolumeClaim": {"claimName": "absent"}}, "not bound"),
        ({"hostPath": {"path": "/etc"}}, "roots"),
        ({"nfs": {"server": "x", "path": "/"}}, "another type"),
    ],
)
def test_a_volume_that_cannot_be_provided_says_why(volume: dict[str, Any], said: str) -> None:
    """Nothing is left out in silence."""
    with pytest.raises(ContainerRefusedError, match=said):
        planned({"name": "v", **volume})


def test_a_host_path_must_stay_below_a_root_even_through_links(tmp_path: Path) -> None:
    """A symbolic link does not lead out."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to("/etc")
    inside = {"name": "v", "hostPath": {"path": f"{root}/cache", "type": "DirectoryOrCreate"}}

    assert planned(inside, roots=(root,))["v"].path == root / "cache"
    for path in (f"{root}/out", f"{root}/../other", f"{root}-other"):
        with pytest.raises(ContainerRefusedError, match="roots"):
            planned({"name": "v", "hostPath": {"path": path}}, roots=(root,))


def test_a_host_path_that_must_exist_is_not_created(tmp_path: Path) -> None:
    """Only ``DirectoryOrCreate`` creates."""
    volume = {"name": "v", "hostPath": {"path": f"{tmp_path}/absent", "type": "Directory"}}

    with pytest.raises(ContainerRefusedError, match="does not exist"):
        planned(volume, roots=(tmp_path,))


def test_a_mount_is_its_volume_or_a_path_below_it() -> None:
    """Several mounts may show parts of one volume."""
    subject = container(
        volumeMounts=[
            {"name": "v", "mountPath": "/all"},
            {"name": "v", "mountPath": "/part", "subPath": "a/b"},
        ]
    )
    volume = PlannedVolume(Path("/host/v"))

    assert mounts(subject, {"v": volume}) == {
        "/all": Path("/host/v"),
        "/part": Path("/host/v/a/b"),
    }


@pytest.mark.parametrize(
    "mount",
    [
        {"name": "absent", "mountPath": "/x"},
        {"name": "v", "mountPath": "/x", "subPath": "../y"},
        {"name": "v", "mountPath": "/x", "subPathExpr": "$(POD)"},
    ],
)
def test_a_mount_that_cannot_be_provided_is_refused(mount: dict[str, Any]) -> None:
    """Unknown volumes, paths that lead out, and what the node does not expand."""
    with pytest.raises(ContainerRefusedError):
        mounts(container(volumeMounts=[mount]), {"v": PlannedVolume(Path("/host/v"))})


def test_everything_that_a_pod_refers_to_is_found() -> None:
    """Volumes, single variables, whole environments, and init containers too."""
    subject = pod(
        {
            "name": "web",
            "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s1", "key": "k"}}}],
            "envFrom": [{"configMapRef": {"name": "c1"}}],
        },
        initContainers=[
            {
                "name": "init",
                "env": [
                    {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}}
                ],
                "envFrom": [{"secretRef": {"name": "s2"}}],
            }
        ],
        volumes=[
            {"name": "a", "secret": {"secretName": "s3"}},
            {"name": "b", "projected": {"sources": [{"configMap": {"name": "c3"}}]}},
            {"name": "c", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    )

    assert references(subject) == References(
        secrets=frozenset({"s1", "s2", "s3"}),
        config_maps=frozenset({"c1", "c2", "c3"}),
        claims=frozenset({"data"}),
        tokens=frozenset({TokenSource(path="token")}),
    )


def test_paths_below_a_volume_are_kept_apart() -> None:
    """Two pods mount the same Secret into two directories."""
    one = VolumePlanner(
        Path("/host/one"),
        facts(pod(volumes=[{"name": "v", "secret": {"secretName": "s"}}])),
        SOURCES,
    )
    two = VolumePlanner(
        Path("/host/two"),
        facts(pod(volumes=[{"name": "v", "secret": {"secretName": "s"}}])),
        SOURCES,
    )

    assert one.plan()["v"].path != two.plan()["v"].path
    assert one.plan()["v"].files == {PurePosixPath("a"): b"1", PurePosixPath("b"): b"2"}


def test_a_sub_path_does_not_leave_its_volume_by_a_link(tmp_path: Path) -> None:
    """What one container put into a volume decides nothing about where another one's mount is."""
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "out").symlink_to(tmp_path)
    subject = container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "out/x"}])

    with pytest.raises(ContainerRefusedError, match="symbolic link"):
        mounts(subject, {"v": PlannedVolume(volume)})
