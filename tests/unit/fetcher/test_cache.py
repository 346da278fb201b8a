"""Files that are there already, locks, left-over parts and local copies."""

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import fetcher_source as faults
from fetcher_source import HttpSource
from fetcher_tools import Recorder
from privatellm_operator.fetcher import errors, storage
from privatellm_operator.fetcher.fetch import fetch
from privatellm_operator.fetcher.request import FetchRequest, PathSource, UrlSource

CONTENT = b"GGUF" + b"weights" * 10_000
NEWER = b"GGUF" + b"newer weights" * 10_000


@pytest.fixture
def source() -> Iterator[HttpSource]:
    """Serve a model."""
    with faults.running(HttpSource(CONTENT)) as running:
        yield running


@pytest.fixture
def request_(source: HttpSource, tmp_path: Path) -> FetchRequest:
    """Ask for the model with its digest declared."""
    return FetchRequest(
        output=tmp_path / "m.gguf",
        source=UrlSource(source.url),
        sha256=source.sha256,
        allow_private_sources=True,
    )


def digest(content: bytes) -> str:
    """Compute a SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("is_digest_declared", [True, False])
def test_the_second_fetch_needs_no_network(
    source: HttpSource, request_: FetchRequest, is_digest_declared: bool
) -> None:
    """A restarted pod, or the next one on a shared cache, starts from the file."""
    request = request_ if is_digest_declared else replace(request_, sha256=None)
    first = fetch(request, Recorder().tools())

    second = fetch(request, Recorder().tools())

    assert second == replace(first, was_present=True)
    assert len(source.requests) == 1


def test_a_file_of_unknown_origin_with_the_declared_digest_is_accepted(
    source: HttpSource, request_: FetchRequest
) -> None:
    """Whoever put it there, these are the bytes."""
    request_.output.write_bytes(CONTENT)

    fetch(request_, Recorder().tools())

    assert source.requests == []


def test_a_file_of_unknown_origin_without_a_digest_is_fetched_again(
    source: HttpSource, request_: FetchRequest
) -> None:
    """Nothing vouches for it."""
    request_.output.write_bytes(NEWER)

    fetch(replace(request_, sha256=None), Recorder().tools())

    assert request_.output.read_bytes() == CONTENT


def test_a_file_that_changed_after_its_verification_is_not_believed(
    source: HttpSource, request_: FetchRequest
) -> None:
    """The marker stands for one state of the file; after a change the digest is computed again."""
    fetch(request_, Recorder().tools())
    damaged = bytearray(CONTENT)
    damaged[100] ^= 1
    request_.output.write_bytes(damaged)

    fetch(request_, Recorder().tools())

    assert request_.output.read_bytes() == CONTENT
    assert len(source.requests) == 2


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "[" * 4000, '{"sha256": 1}', "\xff"])
def test_a_broken_marker_proves_nothing(
    source: HttpSource, request_: FetchRequest, text: str
) -> None:
    """Without a readable marker the file is hashed."""
    fetch(request_, Recorder().tools())
    storage.beside(request_.output, "verified").write_text(text, encoding="latin-1")

    fetch(request_, Recorder().tools())

    assert len(source.requests) == 1


def test_another_source_is_never_served_under_the_old_files_name(
    source: HttpSource, request_: FetchRequest
) -> None:
    """Editing a model's source without declaring a digest fetches the new file."""
    fetch(replace(request_, sha256=None), Recorder().tools())
    with faults.running(HttpSource(NEWER)) as edited:
        fetch(replace(request_, sha256=None, source=UrlSource(edited.url)), Recorder().tools())

    assert request_.output.read_bytes() == NEWER


def test_a_failed_replacement_leaves_the_old_file(
    source: HttpSource, request_: FetchRequest
) -> None:
    """Running servers and the next pod keep what works."""
    fetch(request_, Recorder().tools())

    with pytest.raises(errors.ChecksumMismatchError):
        fetch(replace(request_, sha256="0" * 64), Recorder().tools())
    assert request_.output.read_bytes() == CONTENT


def test_a_part_of_another_source_is_not_continued(
    source: HttpSource, request_: FetchRequest
) -> None:
    """Two files that share an output name are never mixed."""
    source.script = [faults.cut(5000), faults.status(404)]
    with pytest.raises(errors.ModelNotFoundError):
        fetch(request_, Recorder().tools())
    with faults.running(HttpSource(NEWER)) as edited:
        fetch(
            replace(request_, sha256=digest(NEWER), source=UrlSource(edited.url)),
            Recorder().tools(),
        )

        assert edited.ranges == [None]
    assert request_.output.read_bytes() == NEWER


def test_two_fetches_into_one_cache_download_once(
    source: HttpSource, request_: FetchRequest
) -> None:
    """The second waits for the first and then finds the file."""
    is_waiting = threading.Event()
    first, second = Recorder(), Recorder()

    def serve_when_the_other_waits(exchange: faults.Exchange, served: HttpSource) -> None:
        other.start()
        assert is_waiting.wait(10)
        faults.serve(exchange, served)

    def log(event: str, **fields: object) -> None:
        second.log(event, **fields)
        if event == "waiting":
            is_waiting.set()

    other = threading.Thread(target=lambda: fetch(request_, second.tools(log=log)))
    source.script = [serve_when_the_other_waits]

    fetch(request_, first.tools())
    other.join(10)

    assert second.names() == ["waiting", "present"]
    assert len(source.requests) == 1


def test_abandoned_parts_are_removed_after_a_day(
    source: HttpSource, request_: FetchRequest
) -> None:
    """Fresh parts, finished files and strangers' files stay."""
    directory = request_.output.parent
    names = ("old.gguf.partial", "old.gguf.partial.json", "new.gguf.partial", "old.gguf", "notes")
    for name in names:
        (directory / name).write_text(name)
    a_day_ago = datetime.now(UTC).timestamp() - storage.ORPHAN_AGE_SECONDS - 60
    for name in names:
        if not name.startswith("new"):
            os.utime(directory / name, (a_day_ago, a_day_ago))

    fetch(request_, Recorder().tools())

    assert {name for name in names if (directory / name).exists()} == {
        "new.gguf.partial",
        "old.gguf",
        "notes",
    }


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path, request_: FetchRequest) -> None:
    """The volume is told apart from the source."""
    (tmp_path / "file").write_text("in the way")
    request = replace(request_, output=tmp_path / "file" / "m.gguf")

    with pytest.raises(errors.StorageFailedError, match=r"m\.gguf\.lock cannot be written"):
        fetch(request, Recorder().tools())


def test_a_local_file_is_copied_and_verified(tmp_path: Path) -> None:
    """The copy is checked like a download, and the original stays."""
    (tmp_path / "volume.gguf").write_bytes(CONTENT)
    recorder = Recorder()
    request = FetchRequest(
        output=tmp_path / "out" / "m.gguf",
        source=PathSource(tmp_path / "volume.gguf"),
        sha256=digest(CONTENT),
        size_bytes=len(CONTENT),
    )

    fetched = fetch(request, recorder.tools())

    assert fetched.path.read_bytes() == CONTENT
    assert recorder.events[-2]["percent"] == 100.0
    assert (tmp_path / "volume.gguf").exists()


@pytest.mark.parametrize(
    ("changes", "error", "named"),
    [
        pytest.param({"sha256": "0" * 64}, errors.ChecksumMismatchError, "0" * 64, id="digest"),
        pytest.param({"size_bytes": 3}, errors.SizeMismatchError, "declares 3", id="size"),
        pytest.param(
            {"source": PathSource(Path("/absent/m.gguf"))},
            errors.ModelNotFoundError,
            "/absent/m.gguf does not exist",
            id="absent",
        ),
        pytest.param(
            {"source": PathSource(Path("/usr"))},
            errors.InvalidSourceError,
            "/usr is not a file",
            id="a directory",
        ),
        pytest.param(
            {"source": PathSource(Path("/dev/zero"))},
            errors.InvalidSourceError,
            "/dev/zero is not a file",
            id="a device",
        ),
    ],
)
def test_a_local_file_that_is_not_the_declared_one_is_refused(
    tmp_path: Path, changes: dict[str, object], error: type[errors.FetchError], named: str
) -> None:
    """Every path ends in the same checks."""
    (tmp_path / "volume.gguf").write_bytes(CONTENT)
    request = FetchRequest(
        output=tmp_path / "out" / "m.gguf", source=PathSource(tmp_path / "volume.gguf")
    )

    with pytest.raises(error, match=named):
        fetch(replace(request, **changes), Recorder().tools())  # type: ignore[arg-type]
    assert not request.output.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_local_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """Permissions of a volume are a common slip."""
    path = tmp_path / "volume.gguf"
    path.write_bytes(CONTENT)
    path.chmod(0)
    request = FetchRequest(output=tmp_path / "m.gguf", source=PathSource(path))

    with pytest.raises(errors.AccessDeniedError, match="may not be read"):
        fetch(request, Recorder().tools())
