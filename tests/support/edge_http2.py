"""HTTP/2 by hand, as far as an attack needs it: one stream, literal headers, no flow control.

A library would refuse to send what these tests send. Answers are not decoded, because the backend is the
witness; a stream's end is enough.
"""

import asyncio
from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
ANSWER_SECONDS = 5.0

HEADERS, RST_STREAM, SETTINGS, GO_AWAY = 0x1, 0x3, 0x4, 0x7
END_STREAM, END_HEADERS = 0x1, 0x4
LARGEST_IN_PREFIX = 127


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def _text(value: str) -> bytes:
    """Return a literal of HPACK: a length with a prefix of seven bits, and the octets."""
    octets = value.encode("latin-1")
    rest = len(octets) - LARGEST_IN_PREFIX
    if rest < 0:
        return bytes((len(octets),)) + octets
    length = bytearray((LARGEST_IN_PREFIX,))
    while rest >= 0x80:
        length.append(0x80 | rest & 0x7F)
        rest >>= 7
    return bytes((*length, rest)) + octets


def _block(fields: Iterable[tuple[str, str]]) -> bytes:
    """Return header fields as literals that enter no table."""
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)


async def ask(
    host: str, port: int, fields: Iterable[tuple[str, str]], *, ends: bool = True
) -> bool:
    """Open one stream with these fields and say whether it was answered with headers.

    Args:
        host: The edge's address.
        port: Its port.
        fields: Pseudo-headers first, exactly as they are sent.
        ends: Whether the request has no body; a tunnel is left open.
    """
    flags = END_HEADERS | (END_STREAM if ends else 0)
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(PREFACE + _frame(SETTINGS, 0, 0, b""))
        writer.write(_frame(HEADERS, flags, 1, _block(fields)))
        async with asyncio.timeout(ANSWER_SECONDS):
            return await _is_answered(reader)
    except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
        return False
    finally:
        writer.close()


async def _is_answered(reader: asyncio.StreamReader) -> bool:
    while True:
        head = await reader.readexactly(9)
        await reader.readexactly(int.from_bytes(head[:3]))
        kind, stream = head[3], int.from_bytes(head[5:])
        if kind == HEADERS and stream == 1:
            return True
        if kind in (RST_STREAM, GO_AWAY):
            return False
