"""Tools for the fetcher's tests: nothing waits, every pause and log line is kept."""

from dataclasses import dataclass, field
from typing import Any

from privatellm_operator.fetcher.job import Tools


@dataclass
class Recorder:
    """What a fetch did to the world."""

    events: list[dict[str, Any]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def log(self, event: str, **fields: Any) -> None:
        """Keep a log line."""
        self.events.append({"event": event, **fields})

    def names(self) -> list[str]:
        """Return the events' names without progress, in order."""
        return [event["event"] for event in self.events if event["event"] != "progress"]

    def tools(self, **changes: Any) -> Tools:
        """Make tools that record instead of waiting."""
        chosen: dict[str, Any] = {
            "log": self.log,
            "pause": self.pauses.append,
            "luck": lambda: 0.5,
            **changes,
        }
        return Tools(**chosen)
