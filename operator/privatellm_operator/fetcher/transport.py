"""An httpx transport that connects to the very address it has checked.

Checking a name and then connecting to it asks the resolver twice, and a hostile resolver answers
differently the second time. So the name is resolved here, once for each request; the forbidden
addresses fall away; and the request goes to an address literal, with the name kept in the Host header
and in TLS (where the certificate is verified against it).
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import httpx
from typing_extensions import override

from privatellm_operator.fetcher.addresses import Address, AddressRule
from privatellm_operator.fetcher.errors import SourceDisturbedError, SourceRefusedError

Resolver: TypeAlias = Callable[[str, int], Sequence[Address]]
"""Answers a host name and port with addresses, best first."""


def resolve(host: str, port: int) -> Sequence[Address]:
    """Ask the system's resolver.

    Raises:
        SourceDisturbedError: the name has no address at the moment.
    """
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SourceDisturbedError(
            f"The name {host} cannot be resolved ({error}); check the URL and the cluster's DNS."
        ) from error
    # A scoped answer (fe80::1%eth0) is link-local whatever its scope.
    found = (ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers)
    return tuple(dict.fromkeys(found))


class PinnedTransport(httpx.BaseTransport):
    """Sends each request to an allowed address of its host."""

    def __init__(
        self, inner: httpx.BaseTransport, rule: AddressRule, resolver: Resolver = resolve
    ) -> None:
        """Wrap a transport.

        Args:
            inner: makes the connections; it only ever sees address literals.
            rule: says which addresses may be contacted.
            resolver: turns names into addresses.
        """
        self._inner = inner
        self._rule = rule
        self._resolver = resolver

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the first allowed address that accepts a connection.

        Raises:
            SourceRefusedError: the host has no allowed address.
            SourceDisturbedError: the host has no address at the moment.
            httpx.TransportError: no allowed address could be talked to.
        """
        failure: httpx.TransportError | None = None
        for pinned in self._pinned(request):
            try:
                return self._inner.handle_request(pinned)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        raise failure or httpx.ConnectError("the host has no address", request=request)

    @override
    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _pinned(self, request: httpx.Request) -> Iterator[httpx.Request]:
        name = request.url.raw_host.decode("ascii")
        for address in self._allowed(name, request.url):
            yield httpx.Request(
                request.method,
                request.url.copy_with(host=str(address)),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": name},
            )

    def _allowed(self, name: str, url: httpx.URL) -> Sequence[Address]:
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = self._resolver(name, port)
        allowed = [address for address in addresses if self._rule.allows(address)]
        if addresses and not allowed:
            raise SourceRefusedError(
                f"{name} is at {addresses[0]}, which is not a public address; the platform "
                "fetches models from public addresses only unless it allows private sources."
            )
        return allowed
