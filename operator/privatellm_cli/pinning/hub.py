"""Ask a hub that speaks Hugging Face's protocol what a source names.

The token goes to the hub over https and to nobody else: a redirect is followed on the hub itself alone,
which answers with one for a repository that was renamed.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Self
from urllib.parse import quote

import httpx

from privatellm.api.llm_model import HuggingFaceSource
from privatellm_cli.endpoint import trusts_environment
from privatellm_cli.errors import HubError, UsageError
from privatellm_cli.pinning.answers import Pin, pin_of

TIMEOUT_SECONDS = 30.0
MOST_REDIRECTS = 3
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 - the name of the variable, not its value

_MEANINGS = {
    HTTPStatus.UNAUTHORIZED: (
        "it does not exist or is not public; for a gated or private one set "
        f"{TOKEN_VARIABLE} to a token that may read it"
    ),
    HTTPStatus.FORBIDDEN: (
        f"the token in {TOKEN_VARIABLE} may not read it; its terms may have to be accepted on the hub first"
    ),
    HTTPStatus.NOT_FOUND: "there is no such repository or revision; check spec.source.huggingFace",
    HTTPStatus.TOO_MANY_REQUESTS: "it was asked too often; wait, or set " + TOKEN_VARIABLE,
}


class Hub:
    """A hub; use as a context manager."""

    def __init__(self, base_url: str, token: str = "") -> None:
        """Prepare to ask.

        Args:
            base_url: Of the hub or of a mirror of it.
            token: For repositories that are not public.

        Raises:
            UsageError: when the base URL is none.
        """
        self._base = _parsed(base_url)
        secret = (
            {"Authorization": f"Bearer {token}"} if token and self._base.scheme == "https" else {}
        )
        self._client = httpx.Client(
            headers={"User-Agent": "private-llm", "Accept": "application/json", **secret},
            timeout=TIMEOUT_SECONDS,
            trust_env=trusts_environment(base_url),
            verify=ssl.create_default_context(),
        )

    def __enter__(self) -> Self:
        """Begin to use it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close its connections."""
        self._client.close()

    def pin(self, source: HuggingFaceSource) -> Pin:
        """Return the bytes that a source names now.

        Raises:
            HubError: when the hub does not answer, refuses, or has no such file.
        """
        path = f"/api/models/{source.repo}/revision/{quote(source.revision, safe='')}"
        base = str(self._base).rstrip("/")
        with _translated(self._base.host):
            answer = self._get(httpx.URL(f"{base}{path}?blobs=true"))
        if answer.status_code != HTTPStatus.OK:
            raise HubError(_refusal(answer.status_code, source, self._base.host))
        return pin_of(answer.content, source)

    def _get(self, url: httpx.URL) -> httpx.Response:
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._client.get(url, follow_redirects=False)
            if not answer.has_redirect_location:
                return answer
            url = url.join(answer.headers["location"])
            if (url.scheme, url.host, url.port) != self._origin:
                raise HubError(
                    f"{self._base.host} redirects to {url.host}, which is another host: name that one with "
                    "--mirror if it is trusted."
                )
        raise HubError(f"{self._base.host} redirects for ever; check --mirror.")

    @property
    def _origin(self) -> tuple[str, str, int | None]:
        return self._base.scheme, self._base.host, self._base.port


def token_of_environment() -> str:
    """Return the hub's token, where the environment has one."""
    return os.environ.get(TOKEN_VARIABLE, "").strip()


def _parsed(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise UsageError(f"--mirror is no URL: {error}.") from error
    if url.scheme not in ("https", "http") or not url.host or url.query or url.userinfo:
        raise UsageError(
            f"--mirror is the base URL of a hub, such as https://huggingface.co; got {base_url!r}."
        )
    return url


def _refusal(status: int, source: HuggingFaceSource, host: str) -> str:
    meaning = _MEANINGS.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    what = f"{source.repo} at {source.revision}"
    return f"{host} answered {status} for {what}: {meaning or 'try again later'}."


@contextmanager
def _translated(host: str) -> Iterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise HubError(f"{host} was silent for {TIMEOUT_SECONDS:g} s: try again later.") from error
    except httpx.HTTPError as error:
        raise HubError(
            f"{host} cannot be asked ({' '.join(str(error).split())}): is it reachable from here? A mirror "
            "of it is named with --mirror."
        ) from error
