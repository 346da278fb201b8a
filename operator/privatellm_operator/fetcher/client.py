"""One GET with our rules: redirects by hand, credentials for one host, errors in our own words.

Redirects are followed here and not by httpx, so that each hop passes the same checks as the first:
its scheme (never from https down to http), its address (in the transport) and its right to the
credential. The credential goes to the configured hub over https and to nobody else, so a redirect
to a storage host drops it by construction.
"""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from pydantic import SecretStr

from privatellm_operator.fetcher.addresses import AddressRule
from privatellm_operator.fetcher.errors import (
    InvalidSourceError,
    SourceDisturbedError,
    SourceRefusedError,
    SourceUnreachableError,
)
from privatellm_operator.fetcher.transport import PinnedTransport, Resolver, resolve
from privatellm_operator.fetcher.urls import parse_url

MAX_REDIRECTS = 10
CONNECT_TIMEOUT_SECONDS = 15.0
READ_TIMEOUT_SECONDS = 60.0
"""Silence after which a connection counts as dead; a slow source may be slow, not silent."""

_BASE_HEADERS = {
    # A compressed answer would have another length and could not be resumed.
    "Accept-Encoding": "identity",
    "User-Agent": "private-llm-fetcher",
}


@dataclass(frozen=True, slots=True)
class Credential:
    """A token and the only origin that may see it."""

    endpoint: str
    token: SecretStr

    def headers_for(self, url: httpx.URL) -> dict[str, str]:
        """Return the authorization for this URL, empty for any other origin or without TLS."""
        configured = httpx.URL(self.endpoint)
        if url.scheme != "https" or _origin(url) != _origin(configured):
            return {}
        return {"Authorization": f"Bearer {self.token.get_secret_value()}"}


class SourceClient:
    """Opens sources; use as a context manager."""

    def __init__(
        self,
        *,
        rule: AddressRule,
        ca_file: Path | None = None,
        credential: Credential | None = None,
        resolver: Resolver = resolve,
        read_timeout_seconds: float = READ_TIMEOUT_SECONDS,
    ) -> None:
        """Prepare a client.

        Args:
            rule: which network addresses may be contacted.
            ca_file: certificates trusted in addition to the system's.
            credential: for the hub.
            resolver: turns names into addresses.
            read_timeout_seconds: silence after which a connection counts as dead.

        Raises:
            InvalidSourceError: the certificates cannot be read.
        """
        # Without keep-alive a connection is never reused for another name at the same address,
        # whose certificate would then not have been checked.
        inner = httpx.HTTPTransport(
            verify=tls_context(ca_file),
            trust_env=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )
        self._client = httpx.Client(
            transport=PinnedTransport(inner, rule, resolver),
            headers=_BASE_HEADERS,
            timeout=httpx.Timeout(read_timeout_seconds, connect=CONNECT_TIMEOUT_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )
        self._credential = credential

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    @contextmanager
    def open(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Open the answer to a GET behind all redirects; the body is read by the caller.

        Failures of the transport inside the context become our errors as well.

        Raises:
            SourceDisturbedError: the connection failed in a way that can heal.
            SourceUnreachableError: it failed in a way that cannot.
            SourceRefusedError: a hop breaks the platform's rules.
            InvalidSourceError: a redirect leads nowhere.
        """
        with _translated(url):
            response = self._follow(parse_url(url), headers)
            try:
                yield response
            finally:
                response.close()

    def _follow(self, url: httpx.URL, headers: Mapping[str, str]) -> httpx.Response:
        for _ in range(MAX_REDIRECTS + 1):
            request = self._client.build_request(
                "GET", url, headers={**headers, **self._authorization(url)}
            )
            response = self._client.send(request, stream=True)
            if not response.has_redirect_location:
                return response
            response.close()
            url = next_hop(url, response.headers["location"])
        raise InvalidSourceError(
            f"The source redirects more than {MAX_REDIRECTS} times, last to {url.host}; "
            "correct the model's URL."
        )

    def _authorization(self, url: httpx.URL) -> dict[str, str]:
        return {} if self._credential is None else self._credential.headers_for(url)


def next_hop(url: httpx.URL, location: str) -> httpx.URL:
    """Return where a redirect leads.

    Raises:
        SourceRefusedError: it leads from https to http.
        InvalidSourceError: it leads to something that is no URL for us.
    """
    try:
        target = url.join(location)
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidSourceError(
            f"{url.host} redirects to something that is no URL ({error}); correct the source."
        ) from error
    parse_url(str(target))
    if url.scheme == "https" and target.scheme != "https":
        raise SourceRefusedError(
            f"{url.host} redirects from https to {target.scheme}://{target.host}, where nobody "
            "vouches for the content; use a source that stays on https."
        )
    return target


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Return a client's TLS context that trusts the system's roots and an extra file.

    Raises:
        InvalidSourceError: the extra file cannot be read or holds no certificate.
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one, too.
            raise InvalidSourceError(
                f"The extra certificates in {ca_file} cannot be read ({error}); "
                "give a file with certificates in PEM form."
            ) from error
    return context


def _origin(url: httpx.URL) -> tuple[bytes, int]:
    return url.raw_host, url.port or (443 if url.scheme == "https" else 80)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        host = _failed_host(error, url)
        raise SourceDisturbedError(
            f"{host} is silent ({_name(error)}); check that it is reachable from the cluster."
        ) from error
    except httpx.TransportError as error:
        host = _failed_host(error, url)
        if _is_untrusted(error):
            raise SourceUnreachableError(
                f"The certificate of {host} is not trusted ({error}); add its authority to the "
                "platform's extra certificates."
            ) from error
        raise SourceDisturbedError(
            f"The connection to {host} broke ({error or _name(error)}); check that it is "
            "reachable from the cluster."
        ) from error


def _failed_host(error: httpx.RequestError, url: str) -> str:
    """Return the host of the hop that failed, else of the first one."""
    try:
        return error.request.url.host
    except RuntimeError:  # httpx says so when it knows no request.
        return httpx.URL(url).host


def _is_untrusted(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _name(error: Exception) -> str:
    return type(error).__name__
