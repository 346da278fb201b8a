"""Which requests may pass to a model server: an allow-list, everything else is refused.

llama.cpp serves far more than the OpenAI API (slots, properties, metrics, adapters, a web page). What is
not listed here is unreachable. The list is compared byte for byte with what Traefik will forward, without
decoding or normalising it first: dot segments, double slashes, percent-encoding, fragments, parameters and
control characters therefore have no spelling that could match.
"""

import re
from typing import Final

from privatellm.names import SLUG_LENGTH, path_of

ALLOWED: Final = frozenset(
    {
        (b"POST", b"/v1/chat/completions"),
        (b"POST", b"/v1/completions"),
        (b"POST", b"/v1/embeddings"),
        (b"POST", b"/v1/responses"),
        (b"POST", b"/v1/rerank"),
        (b"POST", b"/chat/completions"),  # Chat UIs that are given OPENAI_API_URL as their base.
        (b"GET", b"/v1/models"),
        (b"GET", b"/models"),
        (b"GET", b"/health"),
    }
)
"""Method and path below ``/llm/<slug>``."""

_ROOT: Final = path_of("").encode()
_SLUG_START: Final = len(_ROOT)
_SLUG_END: Final = _SLUG_START + SLUG_LENGTH

_LONGEST_SEGMENT: Final = 32
"""Bytes of a path segment that the audit log shows; a token's secret part is longer."""

_LONGEST_PATH: Final = 128
_NOT_LOGGABLE: Final = re.compile(rb"[^A-Za-z0-9/._~-]")
_LONG_SEGMENT: Final = re.compile(rb"[^/]{%d,}" % (_LONGEST_SEGMENT + 1))


def split_target(uri: bytes) -> tuple[bytes, bytes]:
    """Return the slug and what follows it, query excluded.

    The slug is empty when the path is not below ``/llm/``. No shape is checked here: a slug that is not a
    whole segment leaves a rest that does not begin with a slash, and no such rest is on the allow-list.
    """
    path = uri.partition(b"?")[0]
    if path[:_SLUG_START] != _ROOT:
        return b"", path
    return path[_SLUG_START:_SLUG_END], path[_SLUG_END:]


def is_allowed(method: bytes, rest: bytes) -> bool:
    """Say whether a request may pass.

    Args:
        method: As the client wrote it.
        rest: What follows the slug, query included.
    """
    return (method, rest) in ALLOWED or (method, rest.partition(b"?")[0]) in ALLOWED


def loggable(path: bytes) -> str:
    """Return a path that may stand in a log: bounded, printable and too short-winded for a secret."""
    shown = _LONG_SEGMENT.sub(b"[long]", _NOT_LOGGABLE.sub(b"?", path))
    return shown[:_LONGEST_PATH].decode("ascii")
