"""``state.json``: what an environment must remember between two starts.

Only what cannot be derived again is kept: the layout's version and the addresses that were chosen at
first creation. A directory without this file is not an environment, so nothing in it is ever deleted.
"""

import json
import os
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from privatellm_local import files
from privatellm_local.addresses import AddressPlan, plan_for
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths

STATE_VERSION = 1
"""Version of the layout; a change that an older or newer release cannot read raises it."""


class EnvironmentState(BaseModel):
    """The remembered facts of one environment."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )

    version: int = STATE_VERSION
    slot: int
    edge_port: int
    created_at: datetime

    @property
    def addresses(self) -> AddressPlan:
        """Every address and port of the environment."""
        return plan_for(self.slot, self.edge_port)


def load(paths: StatePaths) -> EnvironmentState | None:
    """Return the state of an environment, or ``None`` when the directory holds none yet.

    Raises:
        StateError: when the state is unreadable or from another version.
    """
    text = files.read_text(paths.state_file)
    if text is None:
        return None
    raw = _decoded(paths, text)
    _require_version(paths, raw)
    try:
        return EnvironmentState.model_validate(raw)
    except ValidationError as error:
        raise StateError(_damaged(paths)) from error


def save(paths: StatePaths, state: EnvironmentState) -> None:
    """Remember the state.

    Raises:
        StateError: when it cannot be written.
    """
    text = state.model_dump_json(by_alias=True, indent=2)
    files.write_if_changed(paths.state_file, text + "\n")


def require_usable(paths: StatePaths) -> None:
    """Refuse a directory that holds something else, or whose path cannot be used.

    Raises:
        StateError: when the directory has content but no environment, is not a directory, or has a
            path that does not fit into ``KUBECONFIG``.
    """
    if os.pathsep in str(paths.root):
        raise StateError(
            f"The path {paths.root} contains {os.pathsep!r}, which separates paths in KUBECONFIG: "
            "choose another directory with --state DIR."
        )
    with files.translated(paths.root):
        if not paths.root.exists():
            return
        content = sorted(entry.name for entry in paths.root.iterdir())
    # A lock alone is what an `up` leaves that was ended before it had chosen its addresses.
    foreign = [name for name in content if name != paths.lock_file.name]
    if foreign and not paths.state_file.exists():
        raise StateError(
            f"{paths.root} holds other files ({foreign[0]}, ...) and no environment: "
            "choose an empty or new directory with --state DIR."
        )


def _decoded(paths: StatePaths, text: str) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise StateError(_damaged(paths)) from error
    if not isinstance(raw, dict):
        raise StateError(_damaged(paths))
    return raw


def _require_version(paths: StatePaths, raw: dict[str, Any]) -> None:
    version = raw.get("version")
    if version != STATE_VERSION:
        raise StateError(
            f"{paths.root} was made by another release (state version {version}, this release reads "
            f"{STATE_VERSION}): remove it with `privatellm down --purge --state {paths.root}`, or "
            "choose another directory with --state DIR."
        )


def _damaged(paths: StatePaths) -> str:
    return (
        f"{paths.state_file} is damaged: remove the environment with "
        f"`privatellm down --purge --state {paths.root}` and start again."
    )
