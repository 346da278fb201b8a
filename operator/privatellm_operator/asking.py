"""Questions to those whose answers nobody vouches for.

Servers and fetchers run in tenants' namespaces, and the check at the edge talks to strangers. What an
answer of theirs can do to us is known here alone. It is read to its end, because what arrived by some
moment may be half of a number. One that is longer than any honest one is none. Neither is a redirect,
which would carry a key to whomever it names. Nothing is unpacked, because a small answer may hold a very
large one. What an answer means is for who asked to find out.
"""

from collections.abc import AsyncIterable, Mapping
from http import HTTPStatus
from typing import Final

import aiohttp

from privatellm.errors import PrivateLLMError

_PIECE: Final = 2**16


class NoAnswerError(PrivateLLMError):
    """Who was asked gave no whole answer; nothing that it said is repeated."""


def open_session(answer_seconds: float) -> aiohttp.ClientSession:
    """Return a session for questions.

    Args:
        answer_seconds: How long a whole answer may take.
    """
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=answer_seconds),
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        trust_env=False,
    )


def base_url(address: str, port: int) -> str:
    """Return where a pod with this IP address listens."""
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


async def ask(
    session: aiohttp.ClientSession,
    url: str,
    at_most: int,
    *,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> bytes:
    """Return the whole body of an answer that is OK.

    Args:
        session: As :func:`open_session` returns it.
        url: What is asked for.
        at_most: Bytes of the longest answer that counts.
        headers: Beside the session's.
        params: The query.

    Raises:
        NoAnswerError: when there is none, a part of one, another one or too long a one.
    """
    try:
        async with session.get(
            url, headers=headers, params=params, allow_redirects=False
        ) as response:
            if response.status != HTTPStatus.OK:
                raise NoAnswerError(f"{url} must answer with 200; got {response.status}.")
            return await _whole(response.content.iter_chunked(_PIECE), at_most)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise NoAnswerError(f"{url} gave no whole answer: {type(error).__name__}.") from error


async def _whole(pieces: AsyncIterable[bytes], at_most: int) -> bytes:
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > at_most:
            raise NoAnswerError(f"An answer may have {at_most} bytes; got more.")
    return bytes(body)
