"""Which URLs are ones that we would ask, judged by the parser that later connects.

Two parsers that read one URL differently are how checks are talked around, so a URL is read by httpx
here as it is in the client.
"""

import httpx

from privatellm_operator.fetcher.errors import InvalidSourceError

MAX_PORT = 65535


def parse_url(text: str) -> httpx.URL:
    """Parse the URL of a model or of a hub.

    Raises:
        InvalidSourceError: it is malformed, not http or https, names no host or carries
            credentials (which are not repeated in the message).
    """
    try:
        url = httpx.URL(text)
        host = url.raw_host
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidSourceError(f"A model's URL must be well-formed: {error}.") from error
    if url.userinfo:
        raise InvalidSourceError(
            f"A model's URL carries no user name or password (host {url.host}): everybody who can "
            "list models would read it. Use a platform credential."
        )
    is_reachable = bool(host) and (url.port is None or 0 < url.port <= MAX_PORT)
    if url.scheme not in {"http", "https"} or not is_reachable:
        raise InvalidSourceError(
            f"A model's URL starts with https:// or http:// and names a host and, if "
            f"any, a port up to {MAX_PORT}, got {text!r}."
        )
    return url
