"""How a catalogue's directory is read."""

from pathlib import Path

import pytest

from privatellm.catalogue import load_catalogue
from privatellm.errors import InvalidObjectError

VALID = """\
apiVersion: llm.privatellms.msp/v1alpha1
kind: LLMModel
metadata:
  name: {name}
  labels: {{team: platform}}
spec:
  source: {{url: "https://models.example/m.gguf"}}
"""


def write(directory: Path, **files: str) -> Path:
    """Write catalogue files."""
    for stem, text in files.items():
        (directory / f"{stem}.yaml").write_text(text)
    return directory


def test_manifests_come_as_they_are_written_sorted_by_name(tmp_path: Path) -> None:
    """What is applied is what stands in the file, without defaults filled in."""
    write(tmp_path, a=VALID.format(name="zeta"), b=VALID.format(name="alpha"))

    manifests = load_catalogue(tmp_path)

    assert [manifest["metadata"]["name"] for manifest in manifests] == ["alpha", "zeta"]
    assert manifests[0]["spec"] == {"source": {"url": "https://models.example/m.gguf"}}
    assert manifests[0]["metadata"]["labels"] == {"team": "platform"}


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    """The kubelet keeps the files in a hidden directory and links to them."""
    data = tmp_path / "..data"
    data.mkdir()
    write(data, m=VALID.format(name="m"))
    (tmp_path / "m.yaml").symlink_to(data / "m.yaml")
    (tmp_path / ".hidden.yaml").write_text("not ours")

    assert len(load_catalogue(tmp_path)) == 1


def test_an_empty_catalogue_offers_nothing(tmp_path: Path) -> None:
    """A platform may start without models."""
    assert load_catalogue(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("a: [", "cannot be read", id="no YAML"),
        pytest.param("", "holds one object", id="nothing"),
        pytest.param("- a\n- b\n", "holds one object", id="a list"),
        pytest.param(f"{VALID}---\n{VALID}".format(name="m"), "cannot be read", id="two objects"),
        pytest.param(
            VALID.format(name="m").replace("LLMModel", "Pod"), "kind LLMModel", id="another kind"
        ),
        pytest.param(
            VALID.format(name="m") + "  sha265: abc\n", "spec.sha265", id="a misspelt field"
        ),
        pytest.param(
            VALID.format(name="m") + "  sha256: abc\n", "spec.sha256", id="a malformed digest"
        ),
        pytest.param(
            VALID.format(name="m").replace("{url", "{ftp"), "spec.source.ftp", id="a bad source"
        ),
        pytest.param("kind: LLMModel\nkind: x\n", "holds one object", id="no version"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_fault(
    tmp_path: Path, text: str, named: str
) -> None:
    """A misspelt field would otherwise be dropped without a word."""
    write(tmp_path, good=VALID.format(name="good"), bad=text)

    with pytest.raises(InvalidObjectError, match=named) as refusal:
        load_catalogue(tmp_path)
    assert str(tmp_path / "bad.yaml") in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_name_stands_for_one_model(tmp_path: Path) -> None:
    """Which of two files wins must not be left to their order."""
    write(tmp_path, a=VALID.format(name="same"), b=VALID.format(name="same"))

    with pytest.raises(InvalidObjectError, match="repeats the model same"):
        load_catalogue(tmp_path)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """A wrong mount is not an empty catalogue, which would look like deletions."""
    with pytest.raises(InvalidObjectError, match="is not a directory"):
        load_catalogue(tmp_path / "absent")
