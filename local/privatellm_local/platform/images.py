"""Which command of this machine stands for which image.

The host node runs nothing that is not in this table, so a pod can choose a program of ours and its
arguments, and nothing else.
"""

import sys

from privatellm_local.platform.facts import (
    AUTHSERVER_IMAGE,
    OPERATOR_IMAGE,
    SERVER_IMAGE,
    SYNC_AGENT_IMAGE,
)

FETCH_COMMAND = "privatellm-fetch"
PORTAL_COMMAND = ("python", "-m", "privatellm_operator.portal")
DRAIN_COMMAND = "privatellm-drain"


def image_table() -> tuple[dict[str, object], ...]:
    """Return the table in the form of the host node's configuration."""
    return (
        _entry(OPERATOR_IMAGE, None, "privatellm_operator.main"),
        _entry(OPERATOR_IMAGE, [FETCH_COMMAND], "privatellm_operator.fetcher.main"),
        _entry(OPERATOR_IMAGE, [DRAIN_COMMAND], "privatellm_operator.drain.main"),
        _entry(OPERATOR_IMAGE, list(PORTAL_COMMAND), "privatellm_operator.portal"),
        _entry(AUTHSERVER_IMAGE, None, "privatellm_authserver.main"),
        _entry(SYNC_AGENT_IMAGE, None, "privatellm_sync_agent.main"),
        _entry(SERVER_IMAGE, None, "privatellm_local.modelserver"),
    )


def _entry(image: str, command: list[str] | None, module: str) -> dict[str, object]:
    return {"image": image, "command": command, "exec": [sys.executable, "-m", module]}
