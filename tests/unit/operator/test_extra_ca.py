"""Fetchers trust the platform's own authorities, wherever they run."""

import base64
from pathlib import Path
from typing import Any

import pytest

from fetcher_certificates import make_authority
from operator_objects import facts, model, settings
from privatellm.errors import InvalidInputError
from privatellm_operator.render import deployment, fetch_job, key_secret
from privatellm_operator.settings import ExtraCaSettings, Settings

VARIABLE = "PRIVATE_LLM_EXTRA_CA_FILE"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The certificate of an authority, and a server's with its key."""
    return make_authority(tmp_path_factory.mktemp("ca"), "models.site")


@pytest.fixture(scope="module")
def file(files: tuple[Path, Path]) -> Path:
    """A file with the certificate of an authority."""
    return files[0]


def chosen(file: Path | str) -> Settings:
    """Return settings with a bundle."""
    extra = ExtraCaSettings(file=str(file), config_map="site", config_map_key="bundle")
    return settings(extra_ca=extra)


def looked_at(pod: dict[str, Any], container: dict[str, Any]) -> dict[str, Any]:
    """Return the volume that the fetcher's file is in."""
    arguments = container["args"]
    path = Path(arguments[arguments.index("--ca-file") + 1])
    (mount,) = [m for m in container["volumeMounts"] if m["mountPath"] == str(path.parent)]
    assert mount["readOnly"]
    (volume,) = [v for v in pod["volumes"] if v["name"] == mount["name"]]
    return dict(volume)


def test_an_instance_finds_the_bundle_in_its_secret(file: Path) -> None:
    """Byte by byte, in a pod that may read nothing else of the platform's."""
    given = facts(chosen=chosen(file))
    pod = deployment.build(given)["spec"]["template"]["spec"]

    volume = looked_at(pod, pod["initContainers"][0])["secret"]

    secret = key_secret.build(given)
    assert volume["secretName"] == secret["metadata"]["name"]
    (item,) = volume["items"]
    assert base64.b64decode(secret["data"][item["key"]]) == file.read_bytes()
    assert "extra-ca" not in str(pod["containers"])


def test_the_platforms_own_fetch_finds_it_in_the_platforms_config_map(file: Path) -> None:
    """Which is in its namespace."""
    pod = fetch_job.build(model(), chosen(file))["spec"]["template"]["spec"]

    volume = looked_at(pod, pod["containers"][0])["configMap"]

    assert volume == {"name": "site", "items": [{"key": "bundle", "path": "ca.crt"}]}


def test_without_a_bundle_nothing_is_different() -> None:
    """No instance rolls because of a value that nobody set."""
    for built in (
        deployment.build(facts(chosen=chosen(""))),
        key_secret.build(facts(chosen=chosen(""))),
        fetch_job.build(model(), chosen("")),
    ):
        assert "ca-file" not in str(built)
        assert "extra-ca" not in str(built)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("", "PEM form"),
        ("no certificate", "PEM form"),
        ("{file}" * 200, "65536 characters"),
    ],
    ids=["absent", "empty", "something else", "too much"],
)
def test_a_bundle_that_cannot_be_used_is_refused_at_the_start(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: str | None,
    said: str,
) -> None:
    """The message names the variable."""
    path = tmp_path / "ca.crt"
    if content is not None:
        path.write_text(content.format(file=file.read_text()))
    monkeypatch.setenv(VARIABLE, str(path))

    with pytest.raises(InvalidInputError, match=f"{VARIABLE}: .*{said}"):
        Settings.of_environment()


def test_a_bundle_with_a_private_key_is_refused(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every customer would get a copy of it."""
    monkeypatch.setenv(VARIABLE, str(files[1]))

    with pytest.raises(InvalidInputError, match=f"{VARIABLE}: .*no private key") as refused:
        Settings.of_environment()
    assert "BEGIN" not in str(refused.value)


def test_a_bundle_may_have_comments(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Authorities have names in all languages."""
    path = tmp_path / "ca.crt"
    path.write_text(f"# Főtanúsítvány\n{file.read_text()}", encoding="utf-8")
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setenv("PRIVATE_LLM_EXTRA_CA_CONFIG_MAP", "site")

    assert ExtraCaSettings().file == path.read_text(encoding="utf-8")


def test_a_bundle_without_its_config_map_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The platform's own fetches could not start."""
    monkeypatch.setenv("PUBLIC_HOST", "llm.example.com")
    monkeypatch.setenv(VARIABLE, str(file))

    with pytest.raises(
        InvalidInputError, match=r"PRIVATE_LLM_EXTRA_CA_CONFIG_MAP: .*Jobs mount it"
    ):
        Settings.of_environment()
