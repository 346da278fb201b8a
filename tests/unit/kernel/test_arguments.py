"""Which arguments of a model server nobody but the platform sets."""

import pytest

from privatellm.api.arguments import PLATFORM_ARGUMENTS, argument_rule, platform_arguments_among


@pytest.mark.parametrize(
    "word",
    [
        *("--host", "--host=0.0.0.0", "--port", "--api-key", "--api-key=x", "--api-key-file"),
        *(
            "--api_key",
            "--api_key_file=/tmp/x",
            "-m",
            "--model",
            "-hf",
            "--hf_repo",
            "-a",
            "--alias",
        ),
        *("-mu", "--model_url=https://example.com", "--tools", "--slots", "--rpc", "-v"),
    ],
)
def test_every_spelling_of_what_the_platform_sets_is_found(word: str) -> None:
    """llama.cpp takes short and long names, underscores behind a double dash, and perhaps ``=``."""
    assert list(platform_arguments_among(["--top-k", "40", word])) == [word]


@pytest.mark.parametrize(
    "words",
    [
        ["--cache-ram", "256", "--reasoning-format", "deepseek"],
        ["--parallel", "4", "-c", "4096", "-fa", "on"],
        ["--override-kv", "tokenizer.ggml.add_bos_token=bool:false"],
        # A prefix of an argument is none, and llama.cpp tells upper from lower case.
        ["--hostile", "-M", "--HOST", "", "=", "model"],
        [],
    ],
)
def test_what_tunes_a_server_is_free(words: list[str]) -> None:
    """A typed field for it may exist; saying it here does no harm."""
    assert list(platform_arguments_among(words)) == []


def test_a_spelling_is_said_once_and_in_the_form_that_it_is_compared_in() -> None:
    """Underscores behind a double dash are folded before the comparison."""
    assert len(set(PLATFORM_ARGUMENTS)) == len(PLATFORM_ARGUMENTS)
    assert not [name for name in PLATFORM_ARGUMENTS if name.startswith("--") and "_" in name]
    assert all(name.startswith("-") and "=" not in name for name in PLATFORM_ARGUMENTS)


def test_the_rule_names_every_spelling() -> None:
    """The API server and the operator read one list."""
    rule = argument_rule()["rule"]
    assert [name for name in PLATFORM_ARGUMENTS if f'"{name}"' not in rule] == []
