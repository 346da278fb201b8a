"""What a pass may do, as values: the steps of a plan, in the order in which they must be written.

The order is the security argument: a verifier is removed before anything says so, and issued before the
customer can hold its key. A plan is carried out front to back, and a crash after any step leaves a world
from which the next pass finds its way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from privatellm.api.api_token_request import APITokenRequestStatus
from privatellm_operator.reconcile.events import Announcement


class Occasion(StrEnum):
    """Why a key is issued; also the reason of the event that tells so."""

    FIRST = "KeyIssued"
    LOST = "KeyReplaced"
    INSTANCE_RECREATED = "KeyReissued"
    ROTATION = "KeyRotated"
    EXTENSION = "KeyExtended"


RETIRED = "KeyRetired"
"""The reason of the event that tells of a replaced key whose time is over."""


@dataclass(frozen=True, slots=True)
class AddFinalizer:
    """Make sure that the request cannot disappear before its verifiers do."""


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Let the request go: nothing of it can be used any more."""


@dataclass(frozen=True, slots=True)
class RemoveVerifier:
    """End a key at the edge; announced where nothing else that is written tells of it."""

    name: str
    announcement: Announcement | None = None


@dataclass(frozen=True, slots=True)
class IssueKey:
    """Reserve a key id in the status, create its verifier, then fill the customer's Secret.

    The key itself is made when the step is carried out, from fresh randomness, and is known to nobody
    else; the step says only what it opens and until when.
    """

    instance_uid: str
    not_before: datetime
    not_after: datetime | None
    occasion: Occasion


@dataclass(frozen=True, slots=True)
class PatchSecret:
    """Mend the customer's Secret; it never carries a key."""

    patch: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Say what was found; announced when it is news."""

    status: APITokenRequestStatus
    announcement: Announcement | None = None


Step = AddFinalizer | RemoveFinalizer | RemoveVerifier | IssueKey | PatchSecret | WriteStatus


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now and when to look again.

    Attributes:
        steps: In the order in which they are written; empty in a settled world.
        requeue_after: Seconds until time alone changes the answer; ``None`` for never.
    """

    steps: tuple[Step, ...] = ()
    requeue_after: float | None = None

    @property
    def looks_again(self) -> bool:
        """Whether the status has to be read off the world that this plan makes."""
        return any(isinstance(step, IssueKey) for step in self.steps)
