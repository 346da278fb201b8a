"""``state.json``: what an environment must remember between two starts.

Only what cannot be derived again is kept: the layout's version and the addresses that were chosen at
first creation. It is the first thing written into a new directory, so a directory without it is not an
environment and nothing in it is ever deleted. The one exception is what remains of one, when its first
``up`` failed or somebody removed a part: a lock that we signed, a status that we wrote, a state file that
cannot be read any more or no file at all, and nothing beside it that does not bear one of our names.
"""

import json
import os
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from privatellm_local import files
from privatellm_local.addresses import (
    HIGHEST_EDGE_PORT,
    LOWEST_EDGE_PORT,
    SLOTS,
    AddressPlan,
    plan_for,
)
from privatellm_local.errors import StateError
from privatellm_local.paths import StatePaths
from privatellm_local.processes import holding, status

STATE_VERSION = 1
"""Version of the layout; a change that an older or newer release cannot read raises it."""


UNUSABLE_CHARACTERS = {
    os.pathsep: "which separates paths in KUBECONFIG",
    "$": "which begins a variable in Traefik's settings and in arguments of pods",
    **dict.fromkeys("=,;@|", "at which the host node tells paths in arguments of pods apart"),
}
"""What a path must not contain, and why."""


class EnvironmentState(BaseModel):
    """The remembered facts of one environment."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid"
    )

    version: int = STATE_VERSION
    slot: int = Field(ge=0, lt=SLOTS, strict=True)
    edge_port: int = Field(ge=LOWEST_EDGE_PORT, le=HIGHEST_EDGE_PORT, strict=True)
    created_at: datetime
    kcp: bool = Field(default=False, strict=True, exclude_if=lambda wanted: not wanted)
    """It has workspaces too. Left out while it has none, so releases without them read the file."""

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
    """Refuse a directory that holds something else.

    Raises:
        StateError: when the directory has content but no environment, is not a directory or cannot be
            read.
    """
    content = _content(paths)
    # A lock without a signature is what an `up` leaves that was killed in its very first moment.
    is_new = content <= {paths.lock_file.name} and not files.read_text(paths.lock_file)
    if not is_new and not is_environment(paths):
        if _has_mark(paths):
            raise StateError(_damaged(paths))
        raise StateError(_not_ours(paths, content))


def require_usable_path(paths: StatePaths) -> None:
    """Refuse a directory whose path some program would misread.

    Raises:
        StateError: with the character and the reason.
    """
    path = str(paths.root)
    # Neither a control character nor a byte that is no text can stand in a configuration file.
    if not path.isprintable():
        raise StateError(
            f"The path {path!a} contains characters that cannot be printed: choose another directory "
            "with --state DIR."
        )
    for character, reason in UNUSABLE_CHARACTERS.items():
        if character in path:
            raise StateError(
                f"The path {path} contains {character!r}, {reason}: choose another directory with "
                "--state DIR."
            )


def require_apart(paths: StatePaths) -> None:
    """Refuse a directory inside another environment's, which would be removed with that one.

    Raises:
        StateError: with the other environment.
    """
    for parent in paths.root.parents:
        if _holds_state(StatePaths(parent)):
            raise StateError(
                f"{paths.root} is inside the environment in {parent} and would be removed with it: "
                "choose a directory elsewhere with --state DIR."
            )


def require_only_ours(paths: StatePaths) -> None:
    """Refuse to remove an environment's directory that holds anything else.

    Raises:
        StateError: with what is not ours, or when the directory cannot be read.
    """
    foreign = _foreign(paths)
    if foreign:
        raise StateError(
            f"{paths.root} holds files that are not ours ({min(foreign)}, ...), so nothing was removed: "
            "move them elsewhere and run `privatellm down --purge` again."
        )


def is_untouched(paths: StatePaths) -> bool:
    """Return whether there is nothing in a directory but, perhaps, a lock.

    Raises:
        StateError: when it cannot be read.
    """
    return _content(paths) <= {paths.lock_file.name}


def is_environment(paths: StatePaths) -> bool:
    """Return whether a directory is one of ours, of whatever release and in whatever shape.

    Raises:
        StateError: when it cannot be read.
    """
    text = files.read_text(paths.state_file)
    if _is_state(text or ""):
        return True
    if _foreign(paths):
        return False
    is_remains = text is not None and _may_be_state(text)
    return is_remains or _has_mark(paths) or _is_hollow(paths)


def _holds_state(paths: StatePaths) -> bool:
    try:
        return _is_state(files.read_text(paths.state_file) or "")
    except StateError:
        return False  # What this user cannot read, this user does not purge.


def _foreign(paths: StatePaths) -> frozenset[str]:
    # A draft is a state file that was being written when its `up` was killed.
    content, draft = _content(paths), f".{paths.state_file.name}."
    return frozenset(name for name in content - paths.names if not name.startswith(draft))


def _has_mark(paths: StatePaths) -> bool:
    """Say whether a file of the directory can only have been written by us."""
    return holding.read(paths.lock_file) is not None or status.read(paths) is not None


def _is_hollow(paths: StatePaths) -> bool:
    # Directories that a component made again while ours was being removed; nothing can be lost in them.
    with files.translated(paths.root, need="readable"):
        return bool(_content(paths)) and not any(names for _, _, names in os.walk(paths.root))


def _content(paths: StatePaths) -> frozenset[str]:
    with files.translated(paths.root, need="readable"):
        if not paths.root.exists():
            return frozenset()
        return frozenset(entry.name for entry in paths.root.iterdir())


def _is_state(text: str) -> bool:
    # Read leniently: another release may have written it.
    try:
        raw = _parsed(text)
    except ValueError:
        return False
    return isinstance(raw, dict) and {"version", "slot"} <= raw.keys()


def _may_be_state(text: str) -> bool:
    # Damage can look like anything; an object of somebody else's that is whole does not name a version.
    try:
        raw = _parsed(text)
    except ValueError:
        return True
    return not isinstance(raw, dict) or "version" in raw


def _decoded(paths: StatePaths, text: str) -> dict[str, Any]:
    try:
        raw = _parsed(text)
    except ValueError as error:
        raise StateError(_damaged(paths)) from error
    if not isinstance(raw, dict):
        raise StateError(_damaged(paths))
    return raw


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _require_version(paths: StatePaths, raw: dict[str, Any]) -> None:
    if "version" not in raw:
        raise StateError(
            f"{paths.state_file} is not of an environment: choose another directory with --state DIR."
        )
    version = raw["version"]
    if version != STATE_VERSION:
        raise StateError(
            f"{paths.root} was made by another release (state version {version}, this release reads "
            f"{STATE_VERSION}): remove it with `privatellm down --purge --state {paths.root}`, or "
            "choose another directory with --state DIR."
        )


def _damaged(paths: StatePaths) -> str:
    remedy = f"with `privatellm down --purge --state {paths.root}` and start again."
    foreign = _foreign(paths)
    if not foreign:
        return f"{paths.state_file} is damaged: remove the environment {remedy}"
    if not _has_mark(paths):
        return _not_ours(paths, foreign)
    return (
        f"{paths.state_file} is damaged or gone, and {paths.root} holds files that are not ours "
        f"({min(foreign)}, ...): move them elsewhere, remove the environment {remedy}"
    )


def _not_ours(paths: StatePaths, content: frozenset[str]) -> str:
    foreign = min(content - paths.names, default=min(content))
    return (
        f"{paths.root} holds other files ({foreign}, ...) and no environment: choose an empty or new "
        "directory with --state DIR."
    )
