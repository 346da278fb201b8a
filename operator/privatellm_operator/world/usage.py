"""When keys were last used, as the edge reports it: a part of the picture that no watch brings.

The reports come from the authserver, which is the part that strangers talk to, so they are believed within
bounds only: a key was not used before it was issued, nor in the future. The memory is bounded by what is
forgotten, and losing it with the process loses minutes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from privatellm.verifiers import Verifier

REMEMBERED = timedelta(hours=1)
"""How long a use waits for the pass that writes it down."""


class KeyUsage:
    """The last use of each key that was used lately."""

    def __init__(self) -> None:
        self._used: dict[str, datetime] = {}

    def merge(self, reported: Mapping[str, datetime], now: datetime) -> tuple[str, ...]:
        """Take a report in, forget what is old, and return the key ids that were used since the last one.

        Args:
            reported: Aware times by key id.
            now: The time, in UTC.
        """
        horizon = now - REMEMBERED
        self._used = {key_id: used for key_id, used in self._used.items() if used > horizon}
        news = {
            key_id: used
            for key_id, used in reported.items()
            if used > self._used.get(key_id, horizon)
        }
        self._used |= news
        return tuple(sorted(news))

    def of(self, verifiers: Iterable[Verifier], now: datetime) -> datetime | None:
        """Return the last use of any of these keys, within each key's life so far.

        Args:
            verifiers: The keys of one request.
            now: The latest time that is believed.
        """
        found = [
            max(verifier.not_before, min(self._used[verifier.key_id], now))
            for verifier in verifiers
            if verifier.key_id in self._used
        ]
        return max(found, default=None)
