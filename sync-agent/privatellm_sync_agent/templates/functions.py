"""The functions a template can call: Go's own, sprig's, and upstream's hashes.

Arguments come in Go's order: in a pipeline the piped value is the *last* one. Every function is pure; those
that would read the environment, the network, the clock or randomness are left out on purpose.
"""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from privatellm_sync_agent.naming import hashes
from privatellm_sync_agent.templates.errors import TemplateError
from privatellm_sync_agent.templates.go_functions import BUILTINS
from privatellm_sync_agent.templates.sprig_texts import TEXTS
from privatellm_sync_agent.templates.sprig_values import DEFAULTS, DICTIONARIES, LISTS, NUMBERS
from privatellm_sync_agent.templates.values import required_text as text

SHORT = 20
"""Hex characters of a short hash, as upstream's functions return them."""


def sha3_short(value: Any, length: Any = SHORT) -> str:
    """Return the first ``length`` hex characters of the SHA3-256 of a text."""
    # In a pipeline the text arrives last, and a length in front of it: {{ .x | sha3short 12 }}.
    if isinstance(value, int) and isinstance(length, str):
        value, length = length, value
    if int(length) <= 0:
        raise TemplateError(f"sha3short needs a length of at least 1; got {length}.")
    return hashes.sha3(text(value))[: int(length)]


HASHES: Mapping[str, Callable[..., Any]] = {
    "sha1sum": lambda value: hashes.sha1(text(value)),
    "sha256sum": lambda value: hashlib.sha256(text(value).encode()).hexdigest(),
    "sha512sum": lambda value: hashlib.sha512(text(value).encode()).hexdigest(),
    "adler32sum": lambda value: str(zlib.adler32(text(value).encode())),
    "sha3sum": lambda value: hashes.sha3(text(value)),
    "sha3short": sha3_short,
    "shortHash": lambda value: hashes.sha1(text(value))[:SHORT],
}
"""Hashes, sprig's and those that upstream adds, by name."""

ALL: Mapping[str, Callable[..., Any]] = {
    **BUILTINS,
    **TEXTS,
    **DEFAULTS,
    **NUMBERS,
    **LISTS,
    **DICTIONARIES,
    **HASHES,
}
"""Every function, by the name that templates use."""
