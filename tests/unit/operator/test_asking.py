"""Questions on real sockets to those who may answer anything."""

import gzip

import aiohttp
import pytest

from foreign_answers import answering, head, in_pieces
from privatellm_operator.asking import NoAnswerError, ask, base_url, open_session

BODY = b"first line\nsecond line\n"
AT_MOST = 100


async def asked(*pieces: bytes) -> bytes:
    """Return what an answer in these pieces is for whoever asked."""
    async with answering(*pieces) as server, open_session(10.0) as session:
        return await ask(session, base_url("127.0.0.1", server.port), AT_MOST)


async def test_an_answer_is_read_to_its_end() -> None:
    """However it arrives, and whoever tells where it ends."""
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    until_closed = b"HTTP/1.1 200 OK\r\n\r\n"

    assert await asked(*in_pieces(BODY)) == BODY
    assert await asked(chunked, b"3\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n") == b"abcde"
    assert await asked(until_closed, b"abc", b"de") == b"abcde"


async def test_an_answer_may_be_as_long_as_it_may() -> None:
    """The bound itself is allowed."""
    assert await asked(*in_pieces(b"x" * AT_MOST)) == b"x" * AT_MOST


PACKED = gzip.compress(bytes(10**6))

REFUSED = {
    "cut off in its head": (b"HTTP/1.1 200 OK\r\nContent-Le",),
    "cut off in its body": in_pieces(BODY, sent=len(BODY) - 1),
    "cut off between chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"3\r\nabc\r\n",
    ),
    "too long": in_pieces(b"x" * (AT_MOST + 1)),
    "of no known length and too long": (b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * AT_MOST] * 2),
    "a refusal": (head(len(BODY), status="401 Unauthorized") + BODY,),
    "another success": (head(len(BODY), status="203 Non-Authoritative") + BODY,),
    "no HTTP": (b"220 mail.example ESMTP\r\n\r\n",),
    "nothing": (b"",),
}


@pytest.mark.parametrize("pieces", REFUSED.values(), ids=REFUSED)
async def test_what_is_no_whole_answer_is_none(pieces: tuple[bytes, ...]) -> None:
    """And tells nothing of what came instead."""
    with pytest.raises(NoAnswerError) as caught:
        await asked(*pieces)

    assert "first line" not in str(caught.value)


async def test_a_packed_answer_stays_packed() -> None:
    """A thousand bytes may hold a million; nobody asked for them to be packed."""
    packed = head(len(PACKED), "Content-Encoding: gzip") + PACKED

    async with answering(packed) as server, open_session(10.0) as session:
        body = await ask(session, base_url("127.0.0.1", server.port), len(PACKED))

    assert body == PACKED
    assert "Accept-Encoding: identity" in server.questions[0]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_carries_a_key_nowhere(status: str) -> None:
    """Nor anything else: whom it names is not asked."""
    key = {"Authorization": "Bearer key"}
    async with answering(*in_pieces(BODY)) as other, open_session(10.0) as session:
        location = f"Location: {base_url('127.0.0.1', other.port)}/metrics"
        async with answering(head(0, location, status=status)) as server:
            with pytest.raises(NoAnswerError, match=status[:3]):
                await ask(session, base_url("127.0.0.1", server.port), AT_MOST, headers=key)

    assert "Authorization: Bearer key" in server.questions[0]
    assert other.questions == []


async def test_who_says_nothing_is_not_waited_for() -> None:
    """A listener that accepts and stays silent ends the question, not the round."""
    async with answering(head(9), closes=False) as server, open_session(0.05) as session:
        with pytest.raises(NoAnswerError, match="Timeout"):
            await ask(session, base_url("127.0.0.1", server.port), AT_MOST)


async def test_where_nobody_listens_there_is_no_answer() -> None:
    async with open_session(10.0) as session:
        with pytest.raises(NoAnswerError, match=aiohttp.ClientConnectorError.__name__):
            await ask(session, base_url("127.0.0.1", 1), AT_MOST)


def test_an_address_of_either_family_makes_a_url() -> None:
    assert base_url("10.0.0.1", 8000) == "http://10.0.0.1:8000"
    assert base_url("fd00::1", 8000) == "http://[fd00::1]:8000"
