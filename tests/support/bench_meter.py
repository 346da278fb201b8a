"""The check without its metrics, to measure what they cost."""

from typing_extensions import override

from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Reason
from privatellm_authserver.metrics import Meter


class NoMeter(Meter):
    """A meter that counts nothing."""

    @override
    def allowed(self, key_id: bytes, began: Moment) -> None:
        """Do nothing."""

    @override
    def denied(self, reason: Reason, began: Moment) -> None:
        """Do nothing."""
