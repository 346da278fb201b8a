"""The models that we ship."""

from typing import Any

import pytest

from privatellm.api.llm_instance import DEFAULT_MODEL
from privatellm.api.llm_model import LLMModel
from privatellm.catalogue import default_directory, load_catalogue
from privatellm_local.modelserver.arguments import parse_arguments
from privatellm_operator.fetcher.arguments import parse_arguments as parse_fetch_arguments

MANIFESTS = load_catalogue(default_directory())
MODELS = tuple(LLMModel.parse(manifest) for manifest in MANIFESTS)
UNITS = {"Mi": 2**20, "Gi": 2**30}

each_model = pytest.mark.parametrize("model", MODELS, ids=[m.metadata.name for m in MODELS])


def bytes_of(quantity: Any) -> int:
    """Read a memory quantity."""
    text = str(quantity)
    return int(text[:-2]) * UNITS[text[-2:]]


def test_six_models_are_offered() -> None:
    """The names are the ones that users of the Go operator already write."""
    assert [model.metadata.name for model in MODELS] == [
        "gemma-3-12b-it",
        "gemma-3-1b-it",
        "gemma-3-4b-it",
        "phi-2",
        "qwen3-4b",
        "tinyllama",
    ]


def test_the_default_model_is_among_them() -> None:
    """An LLMInstance without a model gets one."""
    assert DEFAULT_MODEL in {model.metadata.name for model in MODELS}


def test_confirmed_digests_are_declared() -> None:
    """A digest that several public sources agree on is checked from the first download on."""
    declared = {model.metadata.name: model.spec.sha256 for model in MODELS if model.spec.sha256}

    assert declared == {
        "tinyllama": "9fecc3b3cd76bba89d504f29b616eedf7da85b96540e490ca5824d3f7d2776a0",
        "gemma-3-4b-it": "882e8d2db44dc554fb0ea5077cb7e4bc49e7342a1f0da57901c0802ea21a0863",
        "qwen3-4b": "7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
    }


@each_model
def test_a_model_says_what_it_is_and_under_which_licence(model: LLMModel) -> None:
    """A portal can show it without further knowledge."""
    assert model.spec.display_name
    assert model.spec.license
    assert model.spec.quantization


@each_model
def test_a_model_asks_for_memory_that_holds_it(model: LLMModel) -> None:
    """The request covers the file, and the limit leaves room above the request."""
    requested = bytes_of(model.spec.resources.requests["memory"])
    limited = bytes_of(model.spec.resources.limits["memory"])
    stored = bytes_of(model.spec.resources.requests["ephemeral-storage"])

    assert requested > (model.spec.size_bytes or 0)
    assert stored > (model.spec.size_bytes or 0)
    assert limited > requested


@each_model
def test_a_models_arguments_are_ones_that_the_launcher_obeys(model: LLMModel) -> None:
    """The same entry works with the container image and with the embedded environment."""
    argv = ["--model", "m.gguf", "--port", "8000", *model.spec.extra_arguments]

    assert parse_arguments(argv).cache_ram == 256


@each_model
def test_a_models_source_is_one_that_the_fetcher_accepts(model: LLMModel) -> None:
    """Repository, file and revision pass the fetcher's own checks."""
    source = model.spec.source.hugging_face
    assert source is not None

    argv = ["--output", "/models/m.gguf", "--hf-repo", source.repo, "--hf-file", source.file]
    request = parse_fetch_arguments([*argv, "--hf-revision", source.revision], {})

    assert request.source.describe().startswith(source.file)
    assert model.spec.quantization in source.file
