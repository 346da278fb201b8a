"""How a command line becomes a request."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privatellm_operator.fetcher.arguments import parse_arguments
from privatellm_operator.fetcher.errors import FetchError, InvalidSourceError, SourceRefusedError
from privatellm_operator.fetcher.request import (
    DEFAULT_ENDPOINT,
    FetchRequest,
    HuggingFaceSource,
    PathSource,
    UrlSource,
)

OUTPUT = ["--output", "/models/m.gguf"]
DIGEST = "ab" * 32


def test_a_url_is_a_source() -> None:
    """All rules that the operator passes arrive as values."""
    argv = [*OUTPUT, "--url", "https://models.example/m.gguf?sig=1", "--sha256", DIGEST.upper()]
    argv += ["--size-bytes", "17", "--ca-file", "/ca/extra.pem", "--retries", "3"]
    argv += ["--allow-private-sources", "--report", "/dev/termination-log"]

    assert parse_arguments(argv, {}) == FetchRequest(
        output=Path("/models/m.gguf"),
        source=UrlSource("https://models.example/m.gguf?sig=1"),
        sha256=DIGEST,
        size_bytes=17,
        allow_private_sources=True,
        ca_file=Path("/ca/extra.pem"),
        retries=3,
        report_file=Path("/dev/termination-log"),
    )


def test_a_hub_file_is_a_source() -> None:
    """The URL is the hub's resolve form, with revision and file quoted as the hub expects."""
    argv = ["--hf-repo", "Qwen/Qwen3-4B-GGUF", "--hf-file", "q4/Qwen 3.gguf"]

    source = parse_arguments([*OUTPUT, *argv, "--hf-revision", "refs/pr/1"], {}).source

    assert source == HuggingFaceSource("Qwen/Qwen3-4B-GGUF", "q4/Qwen 3.gguf", "refs/pr/1")
    assert source.url == (
        f"{DEFAULT_ENDPOINT}/Qwen/Qwen3-4B-GGUF/resolve/refs%2Fpr%2F1/q4/Qwen%203.gguf"
    )


def test_a_mirror_replaces_the_hub() -> None:
    """A mirror may live below a path, and the file keeps its identity."""
    argv = [*OUTPUT, "--hf-repo", "a/b", "--hf-file", "m.gguf"]

    direct = parse_arguments(argv, {}).source
    mirrored = parse_arguments([*argv, "--mirror", "https://hub.example/api/hf/"], {}).source

    assert isinstance(mirrored, HuggingFaceSource)
    assert mirrored.url == "https://hub.example/api/hf/a/b/resolve/main/m.gguf"
    assert mirrored.identity == direct.identity


def test_a_path_on_a_volume_is_a_source() -> None:
    """A mounted claim needs no permission: the platform mounted it."""
    assert parse_arguments([*OUTPUT, "--path", "/source/m.gguf"], {}).source == PathSource(
        Path("/source/m.gguf")
    )


def test_file_urls_need_the_platforms_permission() -> None:
    """With it they are paths; quoted characters are decoded."""
    argv = [*OUTPUT, "--url", "file:///models/my%20model.gguf"]

    assert parse_arguments([*argv, "--allow-file-sources"], {}).source == PathSource(
        Path("/models/my model.gguf")
    )
    with pytest.raises(SourceRefusedError, match="allows no file:// sources"):
        parse_arguments(argv, {})


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        pytest.param([], "none", id="no source"),
        pytest.param(["--url", "https://a/b", "--path", "/p"], "url and path", id="two sources"),
        pytest.param(["--url", "ftp://host/m"], "ftp://host/m", id="another scheme"),
        pytest.param(["--url", "https:///m.gguf"], "https:///m.gguf", id="no host"),
        pytest.param(["--url", "/m.gguf"], "/m.gguf", id="no scheme"),
        pytest.param(["--url", "https://h:99999/m"], "h:99999", id="no such port"),
        pytest.param(["--url", "https://[::1/m"], "well-formed", id="a broken address"),
        pytest.param(["--hf-repo", "nameonly", "--hf-file", "f"], "nameonly", id="no owner"),
        pytest.param(["--hf-repo", "a/b/../c", "--hf-file", "f"], "a/b/../c", id="a path"),
        pytest.param(["--hf-repo", "a/b"], "None", id="no file"),
        pytest.param(["--hf-repo", "a/b", "--hf-file", "../f"], "../f", id="dot segments"),
        pytest.param(["--url", "https://a/b", "--sha256", "12"], "'12'", id="a short digest"),
        pytest.param(["--url", "https://a/b", "--size-bytes", "-1"], "'-1'", id="a bad size"),
        pytest.param(["--url", "https://a/b", "--unknown"], "--unknown", id="an unknown flag"),
        pytest.param(["--url", "https://a/\n"], "well-formed", id="a line break"),
        pytest.param(
            ["--url", "file://host/m", "--allow-file-sources"], "file://host/m", id="a remote file"
        ),
        pytest.param(
            ["--url", "https://a/b", "--hf-token-file", "/absent"], "/absent", id="no token file"
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence_that_names_it(
    argv: list[str], named: str
) -> None:
    """The sentence ends up in the instance's condition."""
    with pytest.raises(InvalidSourceError) as refusal:
        parse_arguments([*OUTPUT, *argv], {})

    assert named in str(refusal.value)


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    """Everybody who can list models would read them."""
    with pytest.raises(InvalidSourceError, match="no user name or password") as refusal:
        parse_arguments([*OUTPUT, "--url", "https://user:hunter2@host/m.gguf"], {})

    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("by_file", [True, False])
def test_the_hubs_token_comes_from_a_file_or_the_environment(tmp_path: Path, by_file: bool) -> None:
    """It is no argument, and its repr hides it."""
    (tmp_path / "token").write_text("hf_secret\n")
    argv = [*OUTPUT, "--hf-repo", "a/b", "--hf-file", "m.gguf"]
    environ = {"HF_TOKEN": "hf_environment" if by_file else "hf_secret"}
    argv += ["--hf-token-file", str(tmp_path / "token")] if by_file else []

    request = parse_arguments(argv, environ)

    assert request.token is not None
    assert request.token.get_secret_value() == "hf_secret"
    assert "hf_" not in repr(request)


def test_a_signed_urls_signature_is_never_shown() -> None:
    """The query of a URL may be a credential, and changes with every signature."""
    source = UrlSource("https://bucket.example/m.gguf?X-Amz-Signature=secret")

    assert source.describe() == source.identity == "https://bucket.example/m.gguf"


@given(argv=st.lists(st.text(max_size=20), max_size=6), url=st.text(max_size=40))
def test_any_command_line_gives_a_request_or_our_error(argv: list[str], url: str) -> None:
    """Nothing else ever leaves the parser."""
    try:
        request = parse_arguments([*OUTPUT, f"--url={url}", *argv], {})
        outcome = request.source.describe()
    except FetchError as refusal:
        outcome = refusal.to_line()
    assert outcome
    assert "\n" not in outcome
