"""Ask the demo's model one question through the edge, and tell a person how to do the same.

The answer is streamed, since that is what chat clients do and what a broken proxy buffers. For a
moment after the order the edge may not know the route or the key yet, or keep a connection to a pod that
is gone: those answers are asked again until the patience ends; every other one is final.
"""

import asyncio
import json
import shlex
from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import httpx

from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json
from privatellm_local.demo import names
from privatellm_local.demo.errors import DemoError
from privatellm_local.demo.order import DemoCredentials

QUESTION = "What is the capital of France?"

PATIENCE_SECONDS = 30.0
"""How long the edge may need to learn of a new instance and its key."""

PAUSE_SECONDS = 0.25
REQUEST_TIMEOUT_SECONDS = 60.0
"""Silence after which the model counts as stuck; a busy laptop is slow."""

_NOT_YET = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.NOT_FOUND,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Statuses of an edge that has not caught up with the order."""


class _NotYetError(Exception):
    """The edge has not caught up; asking again may help."""


def request_body(question: str, *, stream: bool) -> dict[str, Any]:
    """Return a chat request that a base model answers with one line."""
    body = {
        "model": names.MODEL,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": 64,
        "stop": ["\n"],
    }
    return body | {"stream": True} if stream else body


def curl_line(question: str = QUESTION) -> str:
    """Return a line that asks the question when it is pasted into a shell with the exports."""
    body = shlex.quote(json.dumps(request_body(question, stream=False)))
    return (
        'curl -sS "$OPENAI_BASE_URL/chat/completions" '
        '-H "Authorization: Bearer $OPENAI_API_KEY" '
        # The answer has no line end, and the shell's prompt shall not stand behind it.
        f"-H 'Content-Type: application/json' -d {body} -w '\\n'"
    )


async def ask(
    credentials: DemoCredentials, question: str, patience_seconds: float = PATIENCE_SECONDS
) -> str:
    """Return the model's answer.

    Args:
        credentials: From the token Secret.
        question: What to ask.
        patience_seconds: How long the edge may need to catch up with the order.

    Raises:
        DemoError: There was no answer, with what the edge or the model said.
    """
    deadline = asyncio.get_running_loop().time() + patience_seconds
    async with httpx.AsyncClient(
        headers={"Authorization": f"Bearer {credentials.api_key}"},
        timeout=REQUEST_TIMEOUT_SECONDS,
        trust_env=False,  # The edge is on loopback, where no proxy belongs.
    ) as client:
        while True:
            try:
                return await _ask_once(client, credentials.base_url, question)
            except (_NotYetError, httpx.TransportError) as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise DemoError(_no_answer(credentials.base_url, str(error))) from error
            await asyncio.sleep(PAUSE_SECONDS)


async def _ask_once(client: httpx.AsyncClient, base_url: str, question: str) -> str:
    url, body = f"{base_url}/chat/completions", request_body(question, stream=True)
    async with client.stream("POST", url, json=body) as response:
        await _check(response, base_url)
        async with aclosing(_texts(response)) as texts:
            answer = "".join([text async for text in texts]).strip()
    if not answer:
        raise DemoError(_no_answer(base_url, "the model said nothing"))
    return answer


async def _check(response: httpx.Response, base_url: str) -> None:
    if response.status_code == HTTPStatus.OK:
        return
    said = f"HTTP {response.status_code}: {(await response.aread()).decode(errors='replace')[:300]}"
    if response.status_code in _NOT_YET:
        raise _NotYetError(said)
    raise DemoError(_no_answer(base_url, said))


async def _texts(response: httpx.Response) -> AsyncGenerator[str, None]:
    """Yield the pieces of an answer from the server-sent events that carry it."""
    async for line in response.aiter_lines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        try:
            event = parse_json(data)
        except InvalidInputError as error:
            raise DemoError(_no_answer(str(response.url), f"no JSON: {data[:100]}")) from error
        if "error" in event:
            raise DemoError(_no_answer(str(response.url), str(event["error"])))
        for choice in event.get("choices", ()):
            yield choice.get("delta", {}).get("content") or ""


def _no_answer(url: str, why: str) -> str:
    return (
        f"The demo's model gave no answer at {url} ({' '.join(why.split()) or 'no connection'}): "
        "look with `privatellm status` and `privatellm logs`."
    )
