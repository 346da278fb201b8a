"""The portal content server: what it answers, what it refuses to serve, and what it reads."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from privatellm_operator.portal.arguments import parse
from privatellm_operator.portal.document import Document, Source
from privatellm_operator.portal.server import create_application

PATH = "/pm-content.json"
HOSTILE = {"title": "\"</script>\\ '{{ . }} 🦙 \u2028"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A document with hostile text."""
    path = tmp_path / "content.json"
    path.write_text(json.dumps(HOSTILE, ensure_ascii=False))
    return path


@pytest.fixture
async def client(file: Path) -> AsyncIterator[TestClient]:
    """A client of a server of that document."""
    async with TestClient(TestServer(create_application(Source(file), PATH))) as connected:
        yield connected


def change(file: Path, content: bytes | None) -> None:
    """Write a file anew, or remove it."""
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)


async def test_the_document_is_served_as_it_is(client: TestClient) -> None:
    """Byte for byte, as JSON that no browser takes for something else."""
    answer = await client.get(PATH)

    assert answer.status == 200
    assert await answer.read() == json.dumps(HOSTILE, ensure_ascii=False).encode()
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "public, max-age=60"


async def test_a_document_that_is_known_is_not_sent_again(client: TestClient) -> None:
    """A portal asks every few seconds."""
    tag = (await client.get(PATH)).headers["ETag"]

    again = await client.get(PATH, headers={"If-None-Match": tag})
    other = await client.get(PATH, headers={"If-None-Match": '"other"'})

    assert (again.status, await again.read()) == (304, b"")
    assert again.headers["ETag"] == tag
    assert other.status == 200


@pytest.mark.parametrize(
    "path", ["/", "/pm-content.json/", "/../etc/passwd", "/x/..%2fpm-content.json"]
)
async def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    """There is one file."""
    assert (await client.get(path)).status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_nothing_can_be_written(client: TestClient, method: str) -> None:
    """It answers questions alone."""
    assert (await client.request(method, PATH)).status == 405


async def test_head_says_what_get_would(client: TestClient) -> None:
    """Monitors ask so."""
    answer = await client.head(PATH)

    assert answer.status == 200
    assert int(answer.headers["Content-Length"]) > 0


async def test_a_changed_file_is_read_again(client: TestClient, file: Path) -> None:
    """A ConfigMap changes under a running pod."""
    before = (await client.get(PATH)).headers["ETag"]
    change(file, b'{"title": "a longer one than before"}')

    answer = await client.get(PATH)

    assert await answer.json() == {"title": "a longer one than before"}
    assert answer.headers["ETag"] != before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 4000, b"\xff", None])
async def test_a_broken_file_never_replaces_a_good_document(
    client: TestClient, file: Path, content: bytes | None
) -> None:
    """The last good one stays."""
    assert (await client.get("/readyz")).status == 200
    change(file, content)

    answer = await client.get(PATH)

    assert (answer.status, await answer.json()) == (200, HOSTILE)


async def test_without_a_document_it_is_alive_and_not_ready(tmp_path: Path) -> None:
    """So no traffic comes, and nobody restarts it."""
    application = create_application(Source(tmp_path / "missing"), PATH)
    async with TestClient(TestServer(application)) as client:
        statuses = [(await client.get(path)).status for path in ("/healthz", "/readyz", PATH)]

    assert statuses == [200, 503, 503]


@given(content=st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3))
def test_a_tag_stands_for_a_content(content: dict[str, str], tmp_path_factory: object) -> None:
    """Equal bytes have equal tags."""
    assert isinstance(tmp_path_factory, pytest.TempPathFactory)
    file = tmp_path_factory.mktemp("tag") / "one.json"
    file.write_text(json.dumps(content))

    assert Document.read(file).tag == Document.read(file).tag


@pytest.mark.parametrize("path", ["/", "/a b", "/{x}", "/healthz", "/a//b", ""])
def test_a_path_that_could_mean_something_else_is_refused(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Braces would be patterns, and probes have paths of their own."""
    with pytest.raises(SystemExit, match="2"):
        parse(["--file=/f", f"--path={path}"])
    assert "must be a path" in capsys.readouterr().err


def test_the_first_slash_of_a_path_may_be_left_out() -> None:
    """An argument that begins with one looks like the path of a file."""
    assert parse(["--file=/f", "--path=some/content.json"]).path == "/some/content.json"


def test_the_defaults_are_those_of_the_portal() -> None:
    """And loopback alone, unless the chart says otherwise."""
    read = parse(["--file=/f"])

    assert (read.path, read.host, read.port) == (PATH, "127.0.0.1", 8092)
