"""The demo's model file and its catalogue entry."""

import asyncio
import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from privatellm.api.llm_model import LLMModel
from privatellm.catalogue import load_catalogue
from privatellm_local.demo import DemoError, ModelFile, model_manifest, prepare_model
from privatellm_local.demo.model import PACKAGE, SHA256, SIZE_BYTES
from privatellm_local.errors import StateError
from privatellm_local.modelserver.arguments import parse_arguments
from privatellm_operator.fetcher.arguments import parse_arguments as parse_fetch_arguments
from privatellm_operator.fetcher.marker import Fingerprint
from privatellm_operator.fetcher.request import PathSource


class Said(list[str]):
    """What progress was told."""

    def __call__(self, message: str) -> None:
        """Keep it."""
        self.append(message)


def names_in(directory: Path) -> list[str]:
    """List a directory without its locks."""
    return [path.name for path in directory.iterdir() if path.suffix != ".lock"]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Name a directory, and do not leave a quarter of a gigabyte behind in it."""
    yield tmp_path / "models"
    shutil.rmtree(tmp_path / "models", ignore_errors=True)


async def test_the_file_is_assembled_verified_and_then_left_alone(directory: Path) -> None:
    """The second call finds the file and writes nothing; a damaged file is made anew."""
    pytest.importorskip(PACKAGE, reason="needs the extra 'demo'")
    first, second, third = Said(), Said(), Said()

    made = await prepare_model(directory, first)
    before = Fingerprint.of(made.path)
    again = await prepare_model(directory, second)

    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == made.sha256 == SHA256
    assert (again, Fingerprint.of(again.path)) == (made, before)
    assert len(first) == 1
    assert "terms of use" in first[0]
    assert second == []

    with made.path.open("r+b") as file:
        file.write(b"damaged")
    await prepare_model(directory, third)

    assert hashlib.sha256(made.path.read_bytes()).hexdigest() == SHA256
    assert len(third) == 1
    assert names_in(directory) == [made.path.name]


async def test_two_first_starts_at_once_make_the_file_once(directory: Path) -> None:
    """They have different state directories and share the user's cache."""
    pytest.importorskip(PACKAGE, reason="needs the extra 'demo'")
    said = Said()

    one, other = await asyncio.gather(*(prepare_model(directory, said) for _ in range(2)))

    assert one == other
    assert hashlib.sha256(one.path.read_bytes()).hexdigest() == SHA256
    assert len(said) == 1
    assert names_in(directory) == [one.path.name]


async def test_without_the_package_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra and the way around it are in the message, and nothing is left behind."""
    monkeypatch.setitem(sys.modules, PACKAGE, None)

    with pytest.raises(DemoError, match=r"pip install 'private-llm\[demo\]'.*--no-demo"):
        await prepare_model(tmp_path / "models", Said())
    assert names_in(tmp_path / "models") == []


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """The state directory is told apart from the model."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StateError, match="file"):
        await prepare_model(tmp_path / "file" / "models", Said())


def test_the_catalogue_entry_is_a_valid_model(tmp_path: Path) -> None:
    """It passes the strict loader, like any file of a catalogue."""
    manifest = model_manifest(ModelFile(tmp_path / "my models" / "m.gguf"))
    (tmp_path / "demo.yaml").write_text(yaml.safe_dump(manifest))

    assert load_catalogue(tmp_path) == (manifest,)


def test_the_catalogue_entry_declares_digest_size_and_terms() -> None:
    """Nothing about the file is left to trust, and its terms are named where it is offered."""
    model = LLMModel.parse(model_manifest(ModelFile(Path("/state/models/m.gguf"))))

    assert (model.spec.sha256, model.spec.size_bytes) == (SHA256, SIZE_BYTES)
    assert "https://ai.google.dev/gemma/terms" in model.spec.license


def test_the_fetcher_finds_the_file_behind_the_entrys_url() -> None:
    """Blanks and other signs in the state directory's name survive the URL."""
    path = Path("/home/a user/stäte #1/50%/m.gguf")
    url = LLMModel.parse(model_manifest(ModelFile(path))).spec.source.url
    assert url is not None

    request = parse_fetch_arguments(
        ["--output", "/models/m.gguf", "--url", url, "--allow-file-sources"], {}
    )

    assert request.source == PathSource(path)


def test_the_model_server_obeys_the_entrys_arguments() -> None:
    """Template and extra arguments pass through the launcher's command line."""
    spec = LLMModel.parse(model_manifest(ModelFile(Path("/m.gguf")))).spec
    argv = ["--model", "m.gguf", "--port", "8000", "--chat-template", spec.chat_template or ""]

    arguments = parse_arguments([*argv, *spec.extra_arguments])

    assert arguments.chat_template == spec.chat_template
    assert arguments.cache_ram == 64
