from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.node.confinement import Confinement
from privatellm_local.node.errors import ContainerRefusedError

ROOT = Path("/state/node/pods/uid/volumes/models")
CONFINED = Confinement.of([ROOT], ["/models"])

OTHERS = st.sampled_from(
    [
        "/home/you/.ssh/id_rsa",
        "/",
        "//etc/passwd",
        "~root/.bashrc",
        "../../../x",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "FILE://localhost/etc/passwd",
        "file:///%65tc/x",
    ]
)
"""Ways to name a file that is not the container's."""

FORMS = st.sampled_from(
    ["{}", "--path={}", "-m{}", "a={}", "https://host/x,{}", "1:{}", "name@{}", "x;{}", "a|{}"]
)
"""Ways in which programs take a path out of a text."""


@given(FORMS, OTHERS)
def test_no_form_of_an_argument_names_a_file_of_the_user(form: str, path: str) -> None:
    """Whatever a program of the image table would take apart, the path in it is seen."""
    argument = form.format(path)

    with pytest.raises(ContainerRefusedError, match="only name paths below"):
        CONFINED.check_arguments([argument])


@pytest.mark.parametrize(
    "argument",
    [
        f"{ROOT}/../secret",
        f"{ROOT}/..",
        "..",
        "-m../../x",
        f"{ROOT}/https://a/../../../etc/passwd",
        "https://a/../../../etc/passwd",
        f"file://{ROOT}/%2e%2e/x",
        f"{ROOT}-of-another/x",
        f"{ROOT}/a,/etc/passwd",
        "/dev/sda",
        "/tmp/x",  # noqa: S108 - the machine's, when a pod's own was not put in its place
        "/etc/pass\0wd",
    ],
)
def test_what_only_looks_like_a_path_of_the_container_is_refused(argument: str) -> None:
    """Parents, addresses that are also names, and neighbours lead elsewhere."""
    assert CONFINED.stray(argument) is not None


@pytest.mark.parametrize(
    "argument",
    [
        str(ROOT),
        f"{ROOT}/x.gguf",
        f"--model={ROOT}/x.gguf",
        f"{ROOT}/a:{ROOT}/b",
        f"{ROOT}/odd,name=1",
        f"file://{ROOT}/x.gguf",
        "model.gguf",
        "~",
        "~/notes",
        "/dev/null",
        "--log-file=/dev/stdout",
        "https://host:8000/llm/x?next=/y&a=b",
        "google/gemma-3-270m",
        "{% if a %}<think>\n</think>{{ 'a/b' }} and/or /no_think ... 1..2{% endif %}",
        "application/json",
        "",
    ],
)
def test_what_a_container_has_may_be_named(argument: str) -> None:
    """Its mounts, its working directory, web addresses, repositories and prose."""
    CONFINED.check_arguments([argument])
    CONFINED.check_variables({"X": argument})


@given(st.text())
def test_a_text_without_a_slash_a_tilde_or_a_colon_names_no_file_outside(text: str) -> None:
    """The least that a path elsewhere needs; a parent directory alone is the exception."""
    plain = text.translate(dict.fromkeys(map(ord, "/~:"))).replace("..", ".")

    assert CONFINED.stray(plain) is None


def test_a_symbolic_link_counts_as_what_it_leads_to(tmp_path: Path) -> None:
    """A link that leaves a mount is refused; one that stays inside and a loop are not a way out."""
    mount = tmp_path / "mount"
    mount.mkdir()
    (mount / "out").symlink_to(tmp_path)
    (mount / "in").symlink_to(mount)
    (mount / "loop").symlink_to(mount / "loop")
    confined = Confinement.of([mount], ["/m"])

    assert confined.stray(f"{mount}/out/secret") is not None
    assert confined.stray(f"--lora={mount}/out,{mount}/in/x") is not None
    assert confined.stray(f"{mount}/in/x") is None
    assert confined.stray(f"{mount}/loop/x") is None


def test_a_mount_may_itself_be_reached_by_a_link(tmp_path: Path) -> None:
    """A state directory on another disk is often one."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "disk")

    assert Confinement.of([tmp_path / "state"], []).stray(f"{tmp_path}/state/x") is None


def test_a_variable_is_named_and_its_value_is_not() -> None:
    """It may have come from a Secret."""
    with pytest.raises(ContainerRefusedError, match="variable KEY names") as caught:
        CONFINED.check_variables({"KEY": "/hunter2"})

    assert "hunter2" not in str(caught.value)
    assert "(/models)" in str(caught.value)
