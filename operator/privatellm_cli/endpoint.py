"""Ask an instance through the edge, as any client of the OpenAI API does.

Answers stream as server-sent events. What the edge or the server says instead of an answer is put into one
sentence with the next step; nothing is retried, because a person or a benchmark wants to know.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json
from privatellm_cli.errors import EndpointError

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
"""Silence after which an answer counts as lost: a long prompt is read for minutes before the first word."""

TIMEOUT = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)

LONGEST_QUOTE = 300
"""Characters of a foreign answer that are repeated."""

_NEXT_STEPS: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "The key is not valid (any more): `privatellm token list` shows the others.",
    HTTPStatus.FORBIDDEN: "The key opens another instance, or the path is not one of the API's.",
    HTTPStatus.NOT_FOUND: "The edge has no route to it (yet): `privatellm describe` shows the condition.",
    HTTPStatus.TOO_MANY_REQUESTS: "The key's limit is reached: wait, or ask the platform team for more.",
    HTTPStatus.BAD_GATEWAY: "A server ended in the middle: `privatellm logs` shows why.",
    HTTPStatus.SERVICE_UNAVAILABLE: "No server is ready: `privatellm describe` shows why.",
    HTTPStatus.GATEWAY_TIMEOUT: "The edge waited too long for a server: `privatellm logs` shows why.",
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an instance answers and the key to it."""

    base_url: str
    key: str = field(repr=False)

    @property
    def url(self) -> str:
        """The URL of chat completions."""
        return f"{self.base_url}/chat/completions"

    @property
    def headers(self) -> dict[str, str]:
        """What a request carries."""
        return {"Authorization": f"Bearer {self.key}"}


def trusts_environment(url: str) -> bool:
    """Say whether proxies of the environment may be used: not for an edge on this machine."""
    host = httpx.URL(url).host
    return not (host == "localhost" or host.startswith("127.") or host == "::1")


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Turn failures of the transport into one sentence."""
    try:
        yield
    except httpx.ConnectError as error:
        raise EndpointError(
            f"The edge at {url} cannot be reached ({_quote(str(error))}): is the host name known here and "
            "the edge running?"
        ) from error
    except httpx.TimeoutException as error:
        raise EndpointError(
            f"{url} was silent for {SILENCE_SECONDS:g} s: `privatellm logs` shows what the server "
            "does."
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EndpointError(f"The answer of {url} broke off: {_quote(str(error))}.") from error


def refusal(status: int, body: bytes) -> EndpointError:
    """Return what an error answer means."""
    said = _message(body)
    step = _NEXT_STEPS.get(status, "")
    return EndpointError(f"The endpoint answered {status}: {said.rstrip('.')}. {step}".rstrip())


def event_of(line: str) -> dict[str, Any] | None:
    """Return the event in one line of a stream; ``None`` for a line that carries none.

    Raises:
        EndpointError: when the server reports an error, or the line is no event of the API.
    """
    name, _, data = line.partition(":")
    data = data.strip()
    if name == "error":
        raise EndpointError(f"The server broke off: {_message(data.encode())}")
    if name != "data" or data in ("", "[DONE]"):
        return None
    try:
        event = parse_json(data)
    except InvalidInputError as error:
        raise EndpointError(f"The endpoint sent no event of the API: {_quote(data)}") from error
    if not isinstance(event, dict):
        raise EndpointError(f"The endpoint sent no event of the API: {_quote(data)}")
    if "error" in event:
        raise EndpointError(f"The server broke off: {_message(data.encode())}")
    return event


def text_of(event: Mapping[str, Any]) -> str:
    """Return the piece of an answer that an event carries."""
    choices = event.get("choices") or ()
    return "".join(str((c.get("delta") or {}).get("content") or "") for c in choices)


def _message(body: bytes) -> str:
    try:
        error = parse_json(body)["error"]
        return _quote(str(error["message"] if isinstance(error, dict) else error))
    except (InvalidInputError, KeyError, TypeError):
        return _quote(body.decode(errors="replace")) or "nothing"


def _quote(text: str) -> str:
    return " ".join(text.split())[:LONGEST_QUOTE]
