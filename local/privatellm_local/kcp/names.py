"""Names on both sides, and kcp's hashes. Pure."""

import hashlib
import secrets

ROOT = "root"
"""Name and path of the first logical cluster."""

WILDCARD = "*"
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CLUSTER_LENGTH = 16


def new_cluster() -> str:
    """Return a fresh name for a logical cluster: 16 characters of base 36."""
    return secrets.choice(_BASE36[10:]) + "".join(
        secrets.choice(_BASE36) for _ in range(_CLUSTER_LENGTH - 1)
    )


def backing_namespace(cluster: str, namespace: str) -> str:
    """Return where objects of a namespace of a cluster are stored; both parts can be 63 characters."""
    digest = hashlib.sha1(namespace.encode(), usedforsecurity=False).hexdigest()[:12]
    return f"w-{cluster}-{digest}"


def backing_name(cluster: str, name: str) -> str:
    """Return what an object without a namespace is called where it is stored."""
    return f"{cluster}.{name}"


def base62_sha224(text: str) -> str:
    """Return kcp's hash for label keys and values."""
    number = int.from_bytes(hashlib.sha224(text.encode()).digest())
    digits = ""
    while number:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return digits or "0"
