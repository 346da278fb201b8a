"""How arguments reach llama.cpp, seen on xllamacpp's real parameters."""

from pathlib import Path
from types import ModuleType

import pytest

from privatellm_local.modelserver import parameters
from privatellm_local.modelserver.arguments import CACHE_TYPES, parse_arguments
from privatellm_local.modelserver.errors import ModelServerError

REQUIRED = ["--model", "/models/m.gguf", "--port", "8000"]


@pytest.fixture(scope="module")
def library() -> ModuleType:
    """Load the real library."""
    pytest.importorskip("xllamacpp", exc_type=ImportError)
    return parameters.load_library()


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """Write a key file with a comment, an empty line and two keys."""
    path = tmp_path / "api-key"
    path.write_text("# backend key\n\nfirst-key\n second-key \n")
    return path


def test_a_deployments_arguments_reach_the_library(library: ModuleType, key_file: Path) -> None:
    """Every setting of a Deployment is found in the library's parameters."""
    argv = [*REQUIRED, "--host", "127.101.0.7", "--alias", "a,b", "--ctx-size", "2048"]
    argv += [
        "--parallel",
        "3",
        "--threads",
        "2",
        "--poll",
        "0",
        "--api-key-file",
        str(key_file),
    ]
    argv += ["--chat-template", "{{ x }}", "--cache-ram", "64", "--timeout", "600"]

    built = parameters.build_parameters(library, parse_arguments(argv))

    assert built.model.path == "/models/m.gguf"
    assert (built.hostnames, built.port) == (["127.101.0.7"], 8000)
    assert built.model_alias == {"a", "b"}
    assert built.api_keys == ["first-key", "second-key"]
    assert (built.n_ctx, built.n_parallel, built.cache_ram_mib) == (2048, 3, 64)
    assert (built.chat_template, built.use_jinja) == ("{{ x }}", True)
    assert (built.timeout_read, built.timeout_write) == (600, 600)


@pytest.mark.parametrize(
    ("extra", "generation", "prompts"),
    [
        pytest.param([], 2, 2, id="prompts follow the thread count"),
        pytest.param(["--threads-batch", "4"], 2, 4, id="unless they have their own"),
    ],
)
def test_threads_do_not_poll(
    library: ModuleType, extra: list[str], generation: int, prompts: int
) -> None:
    """Threads that spin take the cores from a second server on the machine."""
    built = parameters.build_parameters(
        library, parse_arguments([*REQUIRED, "--threads", "2", *extra])
    )

    assert (built.cpuparams.n_threads, built.cpuparams.poll) == (generation, 0)
    assert (built.cpuparams_batch.n_threads, built.cpuparams_batch.poll) == (prompts, 0)


def test_metrics_are_on_and_slots_and_web_ui_are_off(library: ModuleType) -> None:
    """No argument is needed for what the launcher always does."""
    built = parameters.build_parameters(library, parse_arguments(REQUIRED))

    assert built.endpoint_metrics is True
    assert built.endpoint_slots is False
    assert built.ui is False


def test_named_choices_become_the_librarys_members(library: ModuleType) -> None:
    """Words of the command line are translated, not numbers guessed."""
    argv = [
        *REQUIRED,
        "--cache-type-k",
        "q8_0",
        "--cache-type-v",
        "f16",
        "--flash-attn",
        "on",
    ]
    argv += ["--reasoning", "off", "--reasoning-format", "deepseek-legacy"]

    built = parameters.build_parameters(library, parse_arguments(argv))

    assert built.cache_type_k == library.ggml_type.GGML_TYPE_Q8_0
    assert built.cache_type_v == library.ggml_type.GGML_TYPE_F16
    assert built.flash_attn_type == library.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    assert built.enable_reasoning == 0
    assert (
        built.reasoning_format
        == library.common_reasoning_format.COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY
    )


def test_every_cache_type_exists_in_the_library(library: ModuleType) -> None:
    """A choice that the parser offers can be obeyed."""
    for name in CACHE_TYPES:
        argv = [*REQUIRED, "--cache-type-k", name]
        parameters.build_parameters(library, parse_arguments(argv))


def test_reranking_is_an_embedding_server_with_rank_pooling(
    library: ModuleType,
) -> None:
    """llama-server's --reranking means the same."""
    built = parameters.build_parameters(library, parse_arguments([*REQUIRED, "--reranking"]))

    assert built.embedding is True
    assert built.pooling_type == library.llama_pooling_type.LLAMA_POOLING_TYPE_RANK


def test_a_template_file_is_read(library: ModuleType, tmp_path: Path) -> None:
    """A template may come as a file, as for llama-server."""
    template = tmp_path / "few-shot.jinja"
    template.write_text("Frage: {{ x }}", encoding="utf-8")

    built = parameters.build_parameters(
        library, parse_arguments([*REQUIRED, "--chat-template-file", str(template)])
    )

    assert built.chat_template == "Frage: {{ x }}"


@pytest.mark.parametrize("content", ["", "\n \n", "# only a comment\n"])
def test_a_key_file_without_a_key_is_refused(tmp_path: Path, content: str) -> None:
    """A server that was meant to check keys never starts open."""
    path = tmp_path / "api-key"
    path.write_text(content)

    with pytest.raises(ModelServerError, match="holds no key"):
        parameters.read_api_keys(path)


def test_a_missing_key_file_is_refused(tmp_path: Path) -> None:
    """The sentence names the file."""
    with pytest.raises(ModelServerError, match=str(tmp_path / "absent")):
        parameters.read_api_keys(tmp_path / "absent")


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        pytest.param(
            "libgomp.so.1: cannot open shared object file: No such file or directory",
            "apt-get install libgomp1",
            id="the system's OpenMP runtime is missing",
        ),
        pytest.param(
            "No module named 'xllamacpp'",
            "private-llm[local]",
            id="the package is missing",
        ),
        pytest.param("undefined symbol: x", "reinstall", id="the package is broken"),
    ],
)
def test_a_library_that_cannot_be_loaded_names_its_remedy(
    monkeypatch: pytest.MonkeyPatch, reason: str, remedy: str
) -> None:
    """The loader's message becomes one line with what to do."""

    def fail(_name: str) -> ModuleType:
        raise ImportError(reason)

    monkeypatch.setattr("importlib.import_module", fail)

    with pytest.raises(ModelServerError, match=remedy.replace("[", r"\[")) as refusal:
        parameters.load_library()
    assert "\n" not in str(refusal.value)
