"""A conversation with a private LLM in a terminal.

Blocking on purpose: a person waits for a line or for an answer, never for both. Ctrl-C during an answer
ends that answer and keeps what was said; Ctrl-C or Ctrl-D at the prompt ends the conversation. What the
model writes is printed without control characters, which could rewrite the terminal.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

import httpx

from privatellm_cli import endpoint
from privatellm_cli.endpoint import Endpoint
from privatellm_cli.output import printable

PROMPT = "you> "
RESET, EXITS, HELP = "/reset", ("/exit", "/quit", "/bye"), "/help"
USAGE = "/reset forgets what was said, /exit ends; Ctrl-C ends an answer."

Message = dict[str, str]


@dataclass(slots=True)
class Conversation:
    """What was said, and how the model is asked.

    Attributes:
        client: The way to the edge.
        endpoint: The instance.
        options: Fields of every request besides the messages.
        system: What the model is told first; empty for nothing.
        messages: What was said so far.
    """

    client: httpx.Client
    endpoint: Endpoint
    options: Mapping[str, Any]
    system: str = ""
    messages: list[Message] = field(default_factory=list)

    def ask(self, question: str, out: TextIO) -> None:
        """Ask and print the answer as it comes; remember both.

        Raises:
            EndpointError: when there is no answer; the question is then forgotten.
            KeyboardInterrupt: when the answer was interrupted; what came of it is remembered.
        """
        asked: Message = {"role": "user", "content": question}
        pieces: list[str] = []
        try:
            for piece in self._stream([*self.messages, asked]):
                # Small models like to begin with blanks.
                text = piece if pieces else piece.lstrip()
                pieces += [text] if text else []
                out.write(printable(text))
                out.flush()
        finally:
            if pieces:
                out.write("\n")
                self.messages += [asked, {"role": "assistant", "content": "".join(pieces)}]

    def forget(self) -> None:
        """Begin anew."""
        self.messages.clear()

    def _stream(self, messages: list[Message]) -> Iterator[str]:
        told = [{"role": "system", "content": self.system}] if self.system else []
        body = {**self.options, "messages": told + messages, "stream": True}
        with (
            endpoint.translated(self.endpoint.url),
            self.client.stream(
                "POST", self.endpoint.url, json=body, headers=self.endpoint.headers
            ) as response,
        ):
            if not response.is_success:
                raise endpoint.refusal(response.status_code, response.read())
            for line in response.iter_lines():
                event = endpoint.event_of(line)
                if event and (text := endpoint.text_of(event)):
                    yield text


def talk(conversation: Conversation) -> None:
    """Talk until the person has had enough.

    Raises:
        EndpointError: when the endpoint does not answer.
    """
    sys.stderr.write(f"{USAGE}\n")
    while (question := _read()) is not None:
        if question in EXITS:
            return
        if question == RESET:
            conversation.forget()
        elif question == HELP:
            sys.stderr.write(f"{USAGE}\n")
        elif question:
            _ask_interruptibly(conversation, question)


def answer_lines(conversation: Conversation, lines: TextIO) -> None:
    """Answer each line of a stream that is no terminal.

    Raises:
        EndpointError: when the endpoint does not answer.
    """
    for line in lines:
        if question := line.strip():
            conversation.ask(question, sys.stdout)


def _ask_interruptibly(conversation: Conversation, question: str) -> None:
    try:
        conversation.ask(question, sys.stdout)
    except KeyboardInterrupt:
        sys.stderr.write("(interrupted)\n")


def _read() -> str | None:
    """Return the next line; ``None`` when there is none or the person pressed Ctrl-C."""
    try:
        return input(PROMPT).strip()
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\n")
        return None
