import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import cli_hub
from cli_hub import COMMIT, SHA256, SIZE, Hub
from privatellm.catalogue.loader import default_directory, load_catalogue
from privatellm_cli import main as cli
from privatellm_cli.exit_codes import ExitCode
from privatellm_cli.pinning import models
from privatellm_cli.pinning.answers import Pin

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that commands ask."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with cli_hub.running() as running:
        monkeypatch.setenv("PRIVATE_LLM_MIRROR", running.url)
        yield running


def model(name: str = "tiny", **spec: Any) -> dict[str, Any]:
    """Return a model as a person writes it."""
    source = {"huggingFace": {"repo": cli_hub.REPO, "file": "q4/model.gguf"}}
    return {
        "apiVersion": "llm.privatellms.msp/v1alpha1",
        "kind": "LLMModel",
        "metadata": {"name": name},
        "spec": {"displayName": "Tiny", "source": source, "contextSize": 2048} | spec,
    }


def written(path: Path, *documents: dict[str, Any]) -> str:
    """Write documents into a file and return its name."""
    file = path / "model.yaml"
    file.write_text("# A comment.\n" + yaml.safe_dump_all(documents, sort_keys=False))
    return str(file)


def test_a_model_gets_commit_digest_and_size(hub: Hub, tmp_path: Path, capsys: Printed) -> None:
    """Beside its source; nothing else of it changes."""
    file = written(tmp_path, model())

    assert cli.main(["catalog", "pin", file]) == 0

    [printed] = yaml.safe_load_all(capsys.readouterr().out)
    assert list(printed["spec"]) == ["displayName", "source", "sha256", "sizeBytes", "contextSize"]
    assert printed["spec"]["source"]["huggingFace"]["revision"] == COMMIT
    assert (printed["spec"]["sha256"], printed["spec"]["sizeBytes"]) == (SHA256, SIZE)
    assert [path for path, _ in hub.asked] == ["/api/models/owner/name/revision/main?blobs=true"]


def test_pinning_again_changes_nothing(
    hub: Hub, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output is a file that can be pinned, from a pipe too, wherever the branch is by then."""
    cli.main(["catalog", "pin", written(tmp_path, model())])
    once = capsys.readouterr().out
    hub.tells("main", cli_hub.answer("f" * 40, "e" * 64))
    monkeypatch.setattr("sys.stdin", io.StringIO(once))

    assert cli.main(["catalog", "pin", "-"]) == 0
    assert capsys.readouterr().out == once


def test_other_documents_of_a_file_stay_as_they_are(
    hub: Hub, tmp_path: Path, capsys: Printed
) -> None:
    """So do models that come from elsewhere, and a note names them."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "acme"}}
    elsewhere = model("elsewhere", source={"url": "https://models.example/m.gguf"})
    file = written(tmp_path, namespace, elsewhere, model())

    assert cli.main(["catalog", "pin", file]) == 0

    written_out = capsys.readouterr()
    printed = list(yaml.safe_load_all(written_out.out))
    assert printed[:2] == [namespace, elsewhere]
    assert printed[2]["spec"]["sha256"] == SHA256
    assert written_out.err.startswith("note: LLMModel elsewhere does not come from a hub")
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    ("declared", "named"),
    [({"sha256": "0" * 64}, "sha256 " + "0" * 64), ({"sizeBytes": 7}, "sizeBytes 7")],
)
def test_what_a_person_declared_is_never_replaced(
    hub: Hub, tmp_path: Path, capsys: Printed, declared: dict[str, Any], named: str
) -> None:
    """A changed file is what a digest is declared against."""
    code = cli.main(["catalog", "pin", written(tmp_path, model(**declared))])

    written_out = capsys.readouterr()
    assert (code, written_out.out) == (ExitCode.HUB, "")
    assert f"declares {named}, but the hub has" in written_out.err


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (401, "set HF_TOKEN"),
        (403, "terms may have to be accepted"),
        (404, "no such repository or revision"),
        (429, "asked too often"),
        (503, "try again later"),
        ("https://elsewhere.example/api", "redirects to elsewhere.example"),
        (f"/api/models/{cli_hub.REPO}/revision/main", "redirects for ever"),
        (b"<html>", "cannot be read"),
        (cli_hub.answer(commit="main"), "sha: String should match"),
        (cli_hub.answer() | {"siblings": []}, "it has no GGUF file at all"),
    ],
    ids=str,
)
def test_what_a_hub_does_not_tell_is_one_line(
    hub: Hub, tmp_path: Path, capsys: Printed, told: Any, said: str
) -> None:
    """With what to do, and without half a file on standard output."""
    hub.tells("main", told)

    code = cli.main(["catalog", "pin", written(tmp_path, model())])

    written_out = capsys.readouterr()
    assert (code, written_out.out) == (ExitCode.HUB, "")
    assert written_out.err.startswith("error: ")
    assert written_out.err.count("\n") == 1
    assert said in written_out.err


def test_a_file_that_the_hub_has_not_is_answered_with_those_it_has(
    hub: Hub, tmp_path: Path, capsys: Printed
) -> None:
    """And one that it keeps without a digest with what to do."""
    for file, said in (("m.gguf", "it has q4/model.gguf"), ("README.md", "declare spec.sha256")):
        source = {"huggingFace": {"repo": cli_hub.REPO, "file": file}}
        assert cli.main(["catalog", "pin", written(tmp_path, model(source=source))]) == ExitCode.HUB
        assert said in capsys.readouterr().err


def test_a_renamed_repository_is_followed_on_its_hub(
    hub: Hub, tmp_path: Path, capsys: Printed
) -> None:
    """As the hub itself answers."""
    hub.tells("main", "/api/models/new/name/revision/main?blobs=true")
    hub.answers["/api/models/new/name/revision/main"] = cli_hub.answer()

    assert cli.main(["catalog", "pin", written(tmp_path, model())]) == 0


def test_a_token_does_not_travel_without_tls(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even to a mirror that was named."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")

    cli.main(["catalog", "pin", written(tmp_path, model())])

    [(_, headers)] = hub.asked
    assert "hf_secret" not in str(headers)


def test_a_hub_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the way to a mirror."""
    file = written(tmp_path, model())

    code = cli.main(["catalog", "pin", file, "--mirror", "http://127.0.0.1:1"])

    assert code == ExitCode.HUB
    assert "--mirror" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text", "code", "said"),
    [
        ([], "", ExitCode.USAGE, "--from-cluster"),
        (["{file}", "--from-cluster", "tiny"], "a: 1", ExitCode.USAGE, "--from-cluster"),
        (["{file}", "-n", "acme"], "a: 1", ExitCode.USAGE, "needs no cluster"),
        (["{file}", "--mirror", "ftp://x"], yaml.safe_dump(model()), ExitCode.USAGE, "base URL"),
        (["/nowhere.yaml"], "", ExitCode.USAGE, "cannot be read"),
        (["{file}"], "a: [", ExitCode.FAILURE, "is no YAML"),
        (["{file}"], "a: 1", ExitCode.FAILURE, "holds no LLMModel"),
        (["{file}"], yaml.safe_dump(model(sha265="x")), ExitCode.FAILURE, "spec.sha265"),
    ],
)
def test_what_cannot_be_pinned_is_refused_before_a_hub_is_asked(
    hub: Hub,
    tmp_path: Path,
    capsys: Printed,
    arguments: list[str],
    text: str,
    code: ExitCode,
    said: str,
) -> None:
    """In one line that says why."""
    file = tmp_path / "model.yaml"
    file.write_text(text)

    outcome = cli.main(["catalog", "pin", *(word.format(file=file) for word in arguments)])

    written_out = capsys.readouterr()
    assert (outcome, written_out.out) == (code, "")
    assert said in written_out.err
    assert written_out.err.count("\n") == 1
    assert hub.asked == []


@given(st.from_regex(r"[0-9a-f]{40}", fullmatch=True), st.integers(1, 2**50))
def test_a_pinned_model_is_valid_and_pinning_is_idempotent(commit: str, size: int) -> None:
    """Every model of our own catalogue stays what it was, but for the three fields."""
    for manifest in load_catalogue(default_directory()):
        pin = Pin(commit, manifest["spec"].get("sha256") or "a" * 64, size)
        unsized = manifest | {"spec": {**manifest["spec"], "sizeBytes": size}}

        once = models.pinned(unsized, pin)

        assert models.pinned(once, pin) == once
        assert (models.source_of(once) or once).revision == commit  # type: ignore[union-attr]
        assert once["spec"].keys() >= manifest["spec"].keys()


def test_a_stored_model_is_printed_as_a_person_writes_it() -> None:
    """Without what the API server and controllers add."""
    stored = model() | {"status": {"sha256": SHA256}}
    stored["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "finalizers": ["x/y"],
        "labels": {"a": "b"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }

    assert models.as_written(stored) == model() | {
        "metadata": {"name": "tiny", "labels": {"a": "b"}}
    }
