"""Which requests may pass to a model server: an allow-list, everything else is refused.

llama.cpp serves far more than the OpenAI API (slots, properties, metrics, adapters, a web page). What is
not listed here is unreachable. The list is compared byte for byte with what Traefik will forward, without
decoding or normalising it first: dot segments, double slashes, percent-encoding, fragments, parameters and
control characters therefore have no spelling that could match.
"""

import re
from typing import Final

from privatellm.names import SLUG_PATTERN, path_of

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

_INSTANCE: Final = re.compile(
    rb"%s(%s)(/.*)?" % (path_of("").encode(), SLUG_PATTERN.encode()), re.DOTALL
)
"""A path with a whole segment of a slug's form where the slug belongs, and what follows it."""

_LONGEST_SEGMENT: Final = 32
"""Bytes of a path segment that the audit log shows; a token's secret part is longer."""

_LONGEST_PATH: Final = 128
_NOT_LOGGABLE: Final = re.compile(rb"[^A-Za-z0-9/._~-]")
_LONG_SEGMENT: Final = re.compile(rb"[^/]{%d,}" % (_LONGEST_SEGMENT + 1))


def is_allowed(method: bytes, rest: bytes) -> bool:
    """Say whether a request may pass.

    Args:
        method: As the client wrote it.
        rest: What follows the slug, query included.
    """
    return (method, rest) in ALLOWED or (method, rest.partition(b"?")[0]) in ALLOWED


def loggable_target(uri: bytes) -> tuple[str, str]:
    """Return the slug in a target, and its path, as both may stand in a log; the query is left out.

    Only a whole segment of a slug's form counts as one. Otherwise the slug is empty and nothing is taken
    off the path, so that a secret in the slug's place is judged as long as it is, and not in two halves.
    """
    path = uri.partition(b"?")[0]
    match = _INSTANCE.fullmatch(path)
    if match is None:
        return "", _loggable(path)
    return match[1].decode("ascii"), _loggable(match[2] or b"")


def _loggable(path: bytes) -> str:
    """Return a path that may stand in a log: bounded, printable and too short-winded for a secret."""
    shown = _LONG_SEGMENT.sub(b"[long]", _NOT_LOGGABLE.sub(b"?", path))
    return shown[:_LONGEST_PATH].decode("ascii")
