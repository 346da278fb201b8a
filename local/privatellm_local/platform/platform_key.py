"""The Secret from which all backend keys derive: made once, never replaced.

Replacing it would change the key of every running model server, so it is only created when absent.
"""

import base64
import secrets
from typing import Any

from privatellm_local.platform.facts import PLATFORM_KEY, SYSTEM_NAMESPACE

KEY_BYTES = 32


def new_platform_key() -> dict[str, Any]:
    """Return a Secret with fresh randomness."""
    key = base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES)).decode().rstrip("=")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": PLATFORM_KEY, "namespace": SYSTEM_NAMESPACE},
        "stringData": {"platform-key": key},
    }
