"""The host that customers ask for: ``host`` or ``host:port``, by one rule for all who are told it.

It enters URLs, rules of Ingresses and the check's decision. Anything but a name or an address is refused at
the start, above all the backquotes and spaces that mean something in a rule of Traefik (CVE-2026-29777).
"""

import re
from dataclasses import dataclass

from privatellm.errors import InvalidInputError

HIGHEST_PORT = 65535
_HOST = re.compile(r"([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class PublicHost:
    """A host, told apart.

    Attributes:
        name: Name or address in lower case; an IPv6 address stands in brackets.
        port: Its port; ``None`` for the scheme's default.
    """

    name: str
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "PublicHost":
        """Return the host that ``text`` is.

        Raises:
            InvalidInputError: when it is neither a name nor an address, or the port is none.
        """
        match = _HOST.fullmatch(text.lower())
        name, port = match.groups() if match else ("", None)
        if not name or int(port or 0) > HIGHEST_PORT:
            raise InvalidInputError(
                f"The public host is a host name or address, with a port if need be; got {text!r}."
            )
        return cls(name, int(port) if port else None)
