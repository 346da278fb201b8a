"""The check without its metrics, to measure what they cost."""

from typing_extensions import override

from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Reason
from privatellm_authserver.metrics import Meter


class NoMeter(Meter):
    """A meter that counts nothing but what the audit log asks for."""

    @override
    def allowed(self, key_id: bytes, began: Moment) -> None:
        """Count that there was one more."""
        self.allowed_count += 1

    @override
    def denied(self, reason: Reason, began: Moment) -> None:
        """Do nothing."""
