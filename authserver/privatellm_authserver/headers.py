"""From the headers of Traefik's question to the facts of a decision.

Traefik copies the client's headers and adds its own. What we trust is what Traefik wrote, so each decisive
header must be there exactly once, under exactly its name. Names that a less careful reader would fold to
one of ours (``X_Forwarded_Uri``, ``X.Forwarded.Uri``; CVE-2026-39858 and its class) are noticed, and the
request is refused. ``X-Forwarded-Prefix``, ``-Port``, ``-Proto`` and ``-For`` decide nothing, and the query
is cut off unread: a key in it is never looked at.
"""

import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from typing_extensions import override

from privatellm.public_host import PublicHost
from privatellm_authserver.bearer import read_bearer

Header = tuple[bytes, bytes]
"""Name and value."""

AUTHORIZATION: Final = b"authorization"
FORWARDED_METHOD: Final = b"x-forwarded-method"
FORWARDED_URI: Final = b"x-forwarded-uri"
FORWARDED_HOST: Final = b"x-forwarded-host"
KEY_ID: Final = b"x-private-llm-key-id"
INSTANCE: Final = b"x-private-llm-instance"
TRACEPARENT: Final = b"traceparent"

DECISIVE: Final = frozenset({AUTHORIZATION, FORWARDED_METHOD, FORWARDED_URI, FORWARDED_HOST})
"""The headers a decision reads."""

OURS: Final = DECISIVE | {KEY_ID, INSTANCE}
"""The headers somebody behind us trusts, us included."""

_COMMON_NAMES: Final = """
host user-agent accept accept-charset accept-encoding accept-language cache-control pragma connection
content-type content-length cookie origin referer dnt priority te via
sec-fetch-dest sec-fetch-mode sec-fetch-site sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform
x-forwarded-for x-forwarded-port x-forwarded-proto x-forwarded-server x-forwarded-prefix x-real-ip
x-request-id traceparent tracestate baggage openai-organization openai-project
x-stainless-arch x-stainless-async x-stainless-lang x-stainless-os x-stainless-package-version
x-stainless-read-timeout x-stainless-retry-count x-stainless-runtime x-stainless-runtime-version
x-stainless-timeout x-stainless-helper-method x-stainless-raw-response
"""

KNOWN: Final = OURS | frozenset(_COMMON_NAMES.encode().split())
"""Names that are no alias of ours; a shortcut that changes no outcome."""

_ALPHANUMERIC: Final = frozenset((string.ascii_lowercase + string.digits).encode())
_FOLD: Final = bytes(
    byte if byte in _ALPHANUMERIC else ord("-") for byte in bytes(range(256)).lower()
)
"""What careless readers do to a header's name, as a translation table."""

_DEFAULT_PORTS: Final = (80, 443)


class RequestFacts(NamedTuple):
    """What a decision knows about a request; absent and repeated headers read as empty.

    A named tuple and not a data class, because one is made for every request.

    Attributes:
        key_id: The token's key id.
        secret: The token's secret.
        method: The method the client used.
        uri: Path and query the client asked for.
        complete: Whether each ``X-Forwarded-*`` header that decides was there exactly once.
        aliased: Whether a header's name only folds to one of ours.
        host_is_ours: Whether the client asked for the public host.
        traceparent: Which trace the request belongs to; decides nothing.
    """

    key_id: bytes
    secret: bytes
    method: bytes
    uri: bytes
    complete: bool
    aliased: bool
    host_is_ours: bool
    traceparent: bytes

    @override
    def __repr__(self) -> str:
        return f"RequestFacts(key_id={self.key_id!r}, method={self.method!r})"


class FactReader:
    """Reads facts for one public host."""

    def __init__(self, public_host: str) -> None:
        self._hosts = hosts_of(public_host)

    def read(self, headers: Sequence[Header]) -> RequestFacts:
        """Return the facts in the headers of one ForwardAuth request, names in lower case."""
        seen = dict(headers)
        # Nearly every request: no name twice, none that we have not heard of.
        if len(seen) == len(headers) and KNOWN.issuperset(seen):
            return self._facts(seen, aliased=False)
        return self._facts(_once(headers), aliased=any(map(_is_alias, seen)))

    def _facts(self, seen: Mapping[bytes, bytes], *, aliased: bool) -> RequestFacts:
        key_id, secret = read_bearer(seen.get(AUTHORIZATION, b""))
        method = seen.get(FORWARDED_METHOD, b"")
        uri = seen.get(FORWARDED_URI, b"")
        host = seen.get(FORWARDED_HOST, b"")
        complete = bool(method and uri and host)
        host_is_ours = host in self._hosts or host.lower() in self._hosts
        # What RequestFacts(...) does, at a third of its cost.
        trace = seen.get(TRACEPARENT, b"")
        return tuple.__new__(
            RequestFacts, (key_id, secret, method, uri, complete, aliased, host_is_ours, trace)
        )


def _once(headers: Iterable[Header]) -> dict[bytes, bytes]:
    """Return the headers that are read; one that is repeated reads as empty."""
    seen: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in DECISIVE or name == TRACEPARENT:
            seen[name] = b"" if name in seen else value
    return seen


def _is_alias(name: bytes) -> bool:
    return name not in OURS and name.translate(_FOLD) in OURS


def hosts_of(public_host: str) -> frozenset[bytes]:
    """Return every spelling of the public host that a client may send, in lower case.

    Clients leave the port out when it is their scheme's default, and some name it all the same. We do not
    know the scheme, so 80 and 443 both count as default.

    Args:
        public_host: ``host`` or ``host:port``; an IPv6 address stands in brackets.

    Raises:
        InvalidInputError: when it is neither.
    """
    host = PublicHost.parse(public_host)
    named, port = host.name.encode(), host.port
    if port is None:
        return frozenset({named, *(b"%s:%d" % (named, default) for default in _DEFAULT_PORTS)})
    with_port = b"%s:%d" % (named, port)
    return frozenset({with_port, named}) if port in _DEFAULT_PORTS else frozenset({with_port})
