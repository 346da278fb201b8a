"""How a cluster and our credentials are found, and what is said when they are not usable."""

from pathlib import Path

import pytest
import yaml

from privatellm.errors import InvalidInputError
from privatellm.kube.credentials import load_credentials


def kubeconfig(path: Path, user: dict[str, str]) -> Path:
    """Write a kubeconfig for one user and return its path."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1/"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(content))
    return path


async def test_the_environment_names_the_kubeconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first existing word of KUBECONFIG is used, as the kubectl of a person would."""
    path = kubeconfig(tmp_path / "config", {"token": "secret"})
    monkeypatch.setenv("KUBECONFIG", f"{path}:/another")

    credentials = await load_credentials()

    assert credentials.server == "https://127.0.0.1:1"
    assert await credentials.headers() == {"Authorization": "Bearer secret"}


async def test_a_token_file_is_read_again_on_refresh(tmp_path: Path) -> None:
    """Service-account tokens are replaced while we run."""
    token = tmp_path / "token"
    token.write_text("old")
    path = kubeconfig(tmp_path / "config", {"tokenFile": str(token)})
    credentials = await load_credentials(path)
    token.write_text("new")

    await credentials.refresh()

    assert await credentials.headers() == {"Authorization": "Bearer new"}


async def test_outside_a_cluster_and_without_kubeconfig_the_remedy_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is nothing to guess, so the person is told what to set."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(InvalidInputError, match="Set KUBECONFIG"):
        await load_credentials()


async def test_unusable_certificates_are_an_error_in_words(tmp_path: Path) -> None:
    """A missing or damaged file never surfaces as a bare OSError."""
    broken = tmp_path / "client.crt"
    broken.write_text("no certificate")
    user = {"client-certificate": str(broken), "client-key": str(broken)}
    credentials = await load_credentials(kubeconfig(tmp_path / "config", user))

    with pytest.raises(InvalidInputError, match="cannot be used"):
        credentials.tls()


async def test_a_context_can_be_chosen_and_names_its_namespace(tmp_path: Path) -> None:
    """As kubectl's option does."""
    path = kubeconfig(tmp_path / "config", {"token": "secret"})
    content = yaml.safe_load(path.read_text())
    content["clusters"].append({"name": "d", "cluster": {"server": "https://127.0.0.1:2"}})
    content["contexts"].append(
        {"name": "y", "context": {"cluster": "d", "user": "u", "namespace": "acme"}}
    )
    path.write_text(yaml.safe_dump(content))

    current, chosen = await load_credentials(path), await load_credentials(path, "y")

    assert (current.server, current.namespace) == ("https://127.0.0.1:1", "")
    assert (chosen.server, chosen.namespace) == ("https://127.0.0.1:2", "acme")
    await chosen.refresh()
    assert chosen.server == "https://127.0.0.1:2"


async def test_an_unknown_context_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Another cluster is never taken in its place."""
    path = kubeconfig(tmp_path / "config", {"token": "secret"})

    with pytest.raises(InvalidInputError, match="prod"):
        await load_credentials(path, "prod")


async def test_several_files_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context of the second file may be chosen, as with kubectl."""
    first = kubeconfig(tmp_path / "first", {"token": "one"})
    second = kubeconfig(tmp_path / "second", {"token": "two"})
    renamed = second.read_text().replace("name: x", "name: y").replace("name: u", "name: v")
    second.write_text(renamed.replace("user: u", "user: v"))
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")

    credentials = await load_credentials(context="y")
    await credentials.refresh()

    assert await credentials.headers() == {"Authorization": "Bearer two"}


@pytest.mark.parametrize(
    "content",
    [
        b"a-host-name",
        b"- a\n- list\n",
        b"7",
        b"clusters: 7\nusers: 7\ncontexts: 7\ncurrent-context: x\n",
        b"contexts: [7]\ncurrent-context: x\n",
        b"contexts: [{name: x, context: 7}]\nclusters: []\nusers: []\ncurrent-context: x\n",
        b"\xff\xfe\x00",
        b"",
    ],
)
async def test_a_file_that_is_no_kubeconfig_is_told_in_a_sentence(
    tmp_path: Path, content: bytes
) -> None:
    """It may be any file at all: a variable is set to the wrong one."""
    path = tmp_path / "config"
    path.write_bytes(content)

    with pytest.raises(InvalidInputError, match=f"The kubeconfig {path} cannot be used"):
        await load_credentials(path)
