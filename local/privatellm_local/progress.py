"""How long-running work tells a person what it is doing.

The environment reports to this protocol and knows nothing about terminals; the command line brings
the implementations (a live display on a terminal, plain lines elsewhere).
"""

from typing import Protocol


class Progress(Protocol):
    """Receives what is being done, in order; one step is open at a time."""

    def begin(self, step: str) -> None:
        """Open a step, such as ``control plane``."""

    def update(self, detail: str) -> None:
        """Replace the detail of the open step, such as ``kube-apiserver: 312 of 1143 packages``."""

    def end(self, outcome: str = "") -> None:
        """Close the open step successfully, with an optional outcome worth reading."""

    def note(self, message: str) -> None:
        """Say one thing that stays on the screen."""

    def close(self) -> None:
        """Leave the screen to whoever writes next; a step that was open has not ended."""


class SilentProgress:
    """Says nothing; for tests and for callers that look at the result only."""

    def begin(self, step: str) -> None:
        """Ignore the step."""

    def update(self, detail: str) -> None:
        """Ignore the detail."""

    def end(self, outcome: str = "") -> None:
        """Ignore the outcome."""

    def note(self, message: str) -> None:
        """Ignore the message."""

    def close(self) -> None:
        """Nothing is on the screen."""
