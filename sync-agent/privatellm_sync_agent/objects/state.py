"""What we remember of the last content that was copied: digests in its shape, never a value.

The memory lives as an annotation on the copy itself. So it is written in the same request as the content
(no crash can separate them) and goes when the copy goes. Digests are keyed with a salt of the copy, so that
equal values of two objects cannot be told from their memories.
"""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Self

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json

VERSION = 1
LARGEST = 32 * 1024
"""Bytes of a memory; annotations of one object share 256 KiB, and most belong to others."""

_DIGEST_BYTES = 12
_DEEPEST = 32

Tree = dict[str, "Tree | str"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Digests of the content that was copied last."""

    salt: str
    tree: Tree

    @classmethod
    def of(cls, content: dict[str, Any], salt: str) -> Self:
        """Remember a content; a large one is remembered less deeply, never cut."""
        depth = _DEEPEST
        memory = cls(salt, _tree(content, salt, depth))
        while len(memory.text()) > LARGEST and depth > 1:
            depth = depth // 2
            memory = cls(salt, _tree(content, salt, depth))
        return memory

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Read a memory; whatever is not one of ours counts as lost, which costs no correctness."""
        try:
            stored = parse_json(text or "")
            if stored["v"] == VERSION and isinstance(stored["tree"], dict):
                return cls(str(stored["salt"]), stored["tree"])
        except (InvalidInputError, KeyError, TypeError):
            pass
        return None

    def text(self) -> str:
        """Return the memory as it is stored."""
        stored = {"v": VERSION, "salt": self.salt, "tree": self.tree}
        return json.dumps(stored, separators=(",", ":"), sort_keys=True)


def digest(value: Any, salt: str) -> str:
    """Return the keyed digest of a value's canonical JSON."""
    canonical = json.dumps(value, separators=(",", ":"), sort_keys=True)
    code = hmac.new(salt.encode(), canonical.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(code[:_DIGEST_BYTES]).decode()


def _tree(content: dict[str, Any], salt: str, depth: int) -> Tree:
    return {
        key: _tree(value, salt, depth - 1)
        if isinstance(value, dict) and depth > 1
        else digest(value, salt)
        for key, value in content.items()
    }
