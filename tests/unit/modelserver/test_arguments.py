"""What the model server accepts, and how it refuses the rest."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_local.modelserver.arguments import ServerArguments, parse_arguments
from privatellm_local.modelserver.errors import InvalidArgumentsError

REQUIRED = ["--model", "/models/m.gguf", "--port", "8000"]

DEPLOYMENT = [
    *("--model", "/models/gemma.gguf", "--host", "127.101.0.7", "--port", "8000"),
    *("--alias", "gemma-3-270m", "--metrics", "--api-key-file", "/keys/api-key"),
    *("--no-webui", "--no-slots", "--threads", "2", "--poll", "0", "--parallel", "3"),
    *("--ctx-size", "2048", "--jinja", "--chat-template", "{{ messages }}\nAnswer:"),
]


def test_a_deployments_arguments_are_understood() -> None:
    """The arguments that our Deployments render arrive as typed values."""
    arguments = parse_arguments(DEPLOYMENT)

    assert arguments.model == Path("/models/gemma.gguf")
    assert (arguments.host, arguments.port) == ("127.101.0.7", 8000)
    assert arguments.aliases == ("gemma-3-270m",)
    assert arguments.api_key_file == Path("/keys/api-key")
    assert (arguments.threads, arguments.poll, arguments.parallel) == (2, 0, 3)
    assert arguments.ctx_size == 2048
    assert arguments.chat_template == "{{ messages }}\nAnswer:"


def test_what_is_not_asked_for_keeps_llama_cpps_default() -> None:
    """Only --poll departs from llama-server's defaults, for the sake of the neighbours."""
    arguments = parse_arguments(REQUIRED)

    assert arguments.ctx_size is None
    assert arguments.threads is None
    assert arguments.api_key_file is None
    assert arguments.poll == 0


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        pytest.param(["--slots"], "--slots", id="an endpoint that shows other users' state"),
        pytest.param(["--webui"], "--webui", id="the web UI"),
        pytest.param(["--mode", "x"], "--mode x", id="an abbreviation"),
        pytest.param(["--hf-repo", "a/b"], "--hf-repo", id="a download"),
        pytest.param(["stray"], "stray", id="a stray word"),
        pytest.param(["--port", "0"], "'0'", id="port zero"),
        pytest.param(["--port", "65536"], "'65536'", id="a port beyond the last"),
        pytest.param(["--threads", "0"], "'0'", id="no threads"),
        pytest.param(["--poll", "101"], "'101'", id="more than all polling"),
        pytest.param(["--parallel", "many"], "'many'", id="a word for a number"),
        pytest.param(["--cache-type-k", "q1"], "q1", id="an unknown cache type"),
        pytest.param(["--alias", " , "], "' , '", id="an empty alias"),
        pytest.param(["--alias"], "--alias", id="a missing value"),
    ],
)
def test_a_bad_argument_is_refused_in_one_sentence_that_names_it(
    extra: list[str], named: str
) -> None:
    """Nothing is ignored: a flag without effect here would surprise in production."""
    with pytest.raises(InvalidArgumentsError) as refusal:
        parse_arguments([*REQUIRED, *extra])

    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("missing", ["--model", "--port"])
def test_model_and_port_must_be_given(missing: str) -> None:
    """llama.cpp is changing its default port, so there is none here."""
    at = REQUIRED.index(missing)

    with pytest.raises(InvalidArgumentsError, match=missing):
        parse_arguments(REQUIRED[:at] + REQUIRED[at + 2 :])


def test_two_chat_templates_are_refused() -> None:
    """Which of two templates wins must not be left to chance."""
    with pytest.raises(InvalidArgumentsError, match="not both"):
        parse_arguments([*REQUIRED, "--chat-template", "a", "--chat-template-file", "/t.jinja"])


@given(
    template=st.text(min_size=1).filter(lambda text: not text.startswith("-")),
    aliases=st.lists(st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True), min_size=1).filter(
        lambda names: not names[0].startswith("-")
    ),
)
def test_text_arrives_as_it_was_given(template: str, aliases: list[str]) -> None:
    """No text is interpreted on its way through the command line."""
    arguments = parse_arguments(
        [*REQUIRED, "--chat-template", template, "--alias", ",".join(aliases)]
    )

    assert arguments.chat_template == template
    assert arguments.aliases == tuple(aliases)


@given(argv=st.lists(st.text(max_size=12), max_size=6))
def test_any_command_line_is_parsed_or_refused(argv: list[str]) -> None:
    """No input ends in anything but arguments or our own error."""
    try:
        arguments = parse_arguments([*REQUIRED, *argv])
    except InvalidArgumentsError as refusal:
        assert "\n" not in str(refusal)  # noqa: PT017 - both outcomes are right
    else:
        assert isinstance(arguments, ServerArguments)
