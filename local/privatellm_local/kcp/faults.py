"""Everything that can go wrong between a client and kcp, on demand.

Two kinds: rules, which answer the next matching requests in kcp's place, and blows, which hit the watches
that are open now. ``down`` makes the whole server unreachable; ``prefix`` moves every endpoint.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum


class Blow(StrEnum):
    """What hits an open watch."""

    CUT = "cut"
    END = "end"
    EXPIRED = "expired"
    ERROR = "error"
    FREEZE = "freeze"


@dataclass(slots=True)
class Rule:
    """Answers matching requests with an error.

    Attributes:
        status: HTTP status; 0 resets the connection instead.
        path: Regular expression that must be found in the path.
        method: HTTP method; empty for any.
        times: How often; negative for ever.
        retry_after: Seconds for the ``Retry-After`` header; negative for none.
        delay: Seconds before the answer, or before the request goes on when ``status`` is 200.
        after: Whether the request is carried out first and only its answer is replaced.
    """

    status: int
    path: str = ""
    method: str = ""
    times: int = 1
    retry_after: int = -1
    delay: float = 0.0
    after: bool = False

    def matches(self, method: str, path: str) -> bool:
        """Return whether a request is hit, and count it."""
        if self.times == 0 or (self.method and self.method != method):
            return False
        if not re.search(self.path, path):
            return False
        self.times -= 1
        return True


@dataclass(eq=False, slots=True)
class Stream:
    """A watch that is open.

    Attributes:
        path: The path it was asked for.
        plural: The resource.
        blow: Set when it is hit.
    """

    path: str
    plural: str
    blow: "asyncio.Future[Blow]"


@dataclass(slots=True)
class Faults:
    """The state of all faults; a fresh one does nothing.

    Attributes:
        down: Whether every connection is reset.
        prefix: Path in front of every endpoint's URL; requests at the old one are not found.
        claim_delay: Seconds until an accepted or rejected claim takes effect on objects.
        legacy_not_served: Answer 404 for an API that is not served yet, as kcp 0.32 does.
    """

    down: bool = False
    prefix: str = ""
    claim_delay: float = 0.0
    legacy_not_served: bool = False
    rules: list[Rule] = field(default_factory=list)
    streams: set[Stream] = field(default_factory=set)
    observers: list[Callable[[str, str], None]] = field(default_factory=list)

    def add(self, rule: Rule) -> Rule:
        """Let a rule answer from now on."""
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        """Do nothing bad any more."""
        self.rules.clear()
        self.down, self.prefix, self.claim_delay, self.legacy_not_served = False, "", 0.0, False

    def rule_for(self, method: str, path: str) -> Rule | None:
        """Return the rule that hits a request, if one does."""
        for observer in self.observers:
            observer(method, path)
        return next((rule for rule in self.rules if rule.matches(method, path)), None)

    def strike(self, blow: Blow, *, path: str = "", plural: str = "") -> int:
        """Hit the open watches that match and return how many there were."""
        hit = [
            stream
            for stream in self.streams
            if re.search(path, stream.path) and plural in ("", stream.plural)
        ]
        for stream in hit:
            if not stream.blow.done():
                stream.blow.set_result(blow)
        return len(hit)

    def go_down(self) -> None:
        """Become unreachable, open watches included."""
        self.down = True
        self.strike(Blow.CUT)
