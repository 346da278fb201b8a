"""What the edge does with its connections to the check."""

import re

from privatellm_local.build import toolchain


def idle_seconds() -> int:
    """Return for how long Traefik keeps an idle connection to the check.

    No setting of Traefik's reaches the client of ForwardAuth: it is Go's own default, and read where Go
    states it, so that an upgrade of the tool chain that changes it is noticed.
    """
    source = toolchain.find().root / "src" / "net" / "http" / "transport.go"
    default = source.read_text(encoding="utf-8").partition("var DefaultTransport ")[2]
    [seconds] = re.findall(
        r"\bIdleConnTimeout:\s+(\d+) \* time\.Second", default.partition("\n}")[0]
    )
    return int(seconds)
