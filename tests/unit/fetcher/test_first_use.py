"""Digests that the platform recorded, and files that somebody else fetches."""

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

import fetcher_source as faults
from fetcher_source import HttpSource
from fetcher_tools import Recorder
from privatellm_operator.fetcher.arguments import parse_arguments
from privatellm_operator.fetcher.errors import ChecksumMismatchError, InvalidSourceError
from privatellm_operator.fetcher.fetch import fetch
from privatellm_operator.fetcher.progress import Progress
from privatellm_operator.fetcher.request import FetchRequest, UrlSource
from privatellm_operator.fetcher.shown import shown

CONTENT = b"GGUF" + os.urandom(10_000)
SOURCE = ["--url", "https://example.com/m.gguf", "--output", "/m.gguf"]


@pytest.fixture
def source() -> Iterator[HttpSource]:
    """Serve a model."""
    with faults.running(HttpSource(CONTENT)) as running:
        yield running


@pytest.fixture
def request_(source: HttpSource, tmp_path: Path) -> FetchRequest:
    """Ask for the model without any digest."""
    return FetchRequest(
        output=tmp_path / "m.gguf", source=UrlSource(source.url), allow_private_sources=True
    )


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_first_use_has_no_record(tmp_path: Path, content: str | None) -> None:
    """An absent or an empty file is no digest and no fault."""
    path = tmp_path / "sha256"
    if content is not None:
        path.write_text(content)
    assert parse_arguments([*SOURCE, "--sha256-file", str(path)], {}).sha256 is None


def test_a_later_use_is_held_to_the_record(tmp_path: Path) -> None:
    """The digest in the file counts like a declared one, and is told apart from it."""
    path = tmp_path / "sha256"
    path.write_text("a" * 64 + "\n")

    parsed = parse_arguments([*SOURCE, "--sha256-file", str(path)], {})

    assert (parsed.sha256, parsed.is_digest_recorded) == ("a" * 64, True)


def test_a_declared_digest_outranks_a_record(tmp_path: Path) -> None:
    """What a person wrote is newer than what a machine saw."""
    path = tmp_path / "sha256"
    path.write_text("a" * 64)
    arguments = [*SOURCE, "--sha256-file", str(path), "--sha256", "b" * 64]
    assert parse_arguments(arguments, {}).sha256 == "b" * 64


def test_a_record_that_cannot_be_read_ends_the_fetch(tmp_path: Path) -> None:
    """Going on without it would serve a changed file."""
    path = tmp_path / "sha256"
    path.write_text("not a digest")
    with pytest.raises(InvalidSourceError, match="recorded digest"):
        parse_arguments([*SOURCE, "--sha256-file", str(path)], {})


def test_a_changed_file_is_refused_with_both_digests(
    source: HttpSource, request_: FetchRequest
) -> None:
    """The message names what came and what was recorded."""
    recorded = replace(request_, sha256="a" * 64, is_digest_recorded=True)
    with pytest.raises(ChecksumMismatchError) as caught:
        fetch(recorded, Recorder().tools())
    assert source.sha256 in str(caught.value)
    assert f"{'a' * 64} was recorded on its first use" in str(caught.value)
    assert not request_.output.exists()


def test_a_waiting_pod_takes_what_another_fetched_without_network(
    source: HttpSource, request_: FetchRequest
) -> None:
    """It asks nobody, writes nothing, and starts as soon as the whole file is there."""
    waiting = replace(request_, waits=True)
    looked = threading.Event()
    recorder = Recorder()

    def pause(_seconds: float) -> None:
        if not looked.is_set():
            looked.set()
            assert list(request_.output.parent.iterdir()) == []
            fetch(request_, Recorder().tools())

    fetched = fetch(waiting, recorder.tools(pause=pause))

    assert fetched.sha256 == source.sha256
    assert recorder.names() == ["waiting", "present"]
    assert len(source.requests) == 1


def test_progress_can_be_asked_for_while_the_fetch_runs() -> None:
    """Bytes, percentage and speed of the last progress, and every event is logged as well."""
    recorder, times = Recorder(), iter([0.0, 2.0])
    port = _free_port()
    with shown(("127.0.0.1", port), recorder.log) as log:
        url = f"http://127.0.0.1:{port}/"
        assert httpx.get(url).json() == {}
        progress = Progress(log, lambda: next(times), 4000)
        progress.at(0)
        progress.at(1000)
        answer = httpx.get(url).json()

    assert answer == {"bytes": 1000, "total_bytes": 4000, "percent": 25.0, "bytes_per_second": 500}
    assert [event["bytes"] for event in recorder.events] == [0, 1000]
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_a_port_that_cannot_be_had_stops_no_fetch() -> None:
    """Showing progress is a courtesy."""
    recorder = Recorder()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with shown(taken.getsockname(), recorder.log) as log:
            log("fetched")
    assert recorder.names() == ["progress not shown", "fetched"]


def test_the_command_line_names_where_progress_is_shown() -> None:
    """Address and port, or nothing."""
    shown_at = ["--progress-host", "127.0.0.1", "--progress-port", "8002"]
    assert parse_arguments([*SOURCE, *shown_at], {}).progress_address == ("127.0.0.1", 8002)
    assert parse_arguments(SOURCE, {}).progress_address is None
    assert parse_arguments([*SOURCE, "--wait"], {}).waits


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
