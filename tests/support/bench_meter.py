"""The check without its metrics, to measure what they cost."""

from collections import deque
from itertools import repeat

from typing_extensions import override

from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Reason
from privatellm_authserver.metrics import Meter


class NoMeter(Meter):
    """A meter that counts nothing; what remains are the two calls that it would be told by."""

    def __init__(self) -> None:
        super().__init__()
        self.used = deque[bytes](maxlen=0).append
        self.is_timed = repeat(object=False).__next__

    @override
    def denied(self, reason: Reason, began: Moment) -> None:
        """Do nothing."""
