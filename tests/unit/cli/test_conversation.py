import io
import json
import sys
from collections.abc import Iterator

import httpx
import pytest

from privatellm_cli.conversation import Conversation, answer_lines, talk
from privatellm_cli.endpoint import Endpoint
from privatellm_cli.errors import EndpointError


class Edge:
    """An edge that answers each request with a list of pieces, or refuses it."""

    def __init__(self) -> None:
        self.asked: list[dict[str, object]] = []
        self.pieces: list[str] = ["Par", "is."]
        self.status = 200
        self.interrupt = False

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.asked.append(json.loads(request.content))
        if self.status != 200:
            return httpx.Response(self.status, json={"error": {"message": "no"}})
        return httpx.Response(200, content=self._events())

    def _events(self) -> Iterator[bytes]:
        for piece in self.pieces:
            event = {"choices": [{"delta": {"content": piece}}]}
            yield f"data: {json.dumps(event)}\n\n".encode()
        if self.interrupt:
            raise KeyboardInterrupt
        yield b"data: [DONE]\n\n"


@pytest.fixture
def edge() -> Edge:
    """An edge without a network."""
    return Edge()


@pytest.fixture
def conversation(edge: Edge) -> Iterator[Conversation]:
    """A conversation through it."""
    with httpx.Client(transport=httpx.MockTransport(edge.answer)) as client:
        yield Conversation(client, Endpoint("http://e/v1", "k"), {"model": "m"}, system="Be brief.")


def test_an_answer_appears_and_is_remembered(conversation: Conversation, edge: Edge) -> None:
    """The next question is asked with everything that was said."""
    out = io.StringIO()

    conversation.ask("Capital?", out)
    conversation.ask("And Spain's?", out)

    assert out.getvalue() == "Paris.\nParis.\n"
    assert edge.asked[1]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Capital?"},
        {"role": "assistant", "content": "Paris."},
        {"role": "user", "content": "And Spain's?"},
    ]
    assert edge.asked[0]["stream"] is True


def test_what_a_model_writes_cannot_steer_the_terminal(
    conversation: Conversation, edge: Edge
) -> None:
    """A prompt can make a model write escape sequences."""
    edge.pieces = ["\x1b[2J", "ok\x07"]
    out = io.StringIO()

    conversation.ask("?", out)

    assert out.getvalue() == "\\x1b[2Jok\\x07\n"


def test_a_question_that_was_refused_is_forgotten(conversation: Conversation, edge: Edge) -> None:
    """Asking it again does not ask it twice."""
    edge.status = 503

    with pytest.raises(EndpointError, match="No server is ready"):
        conversation.ask("?", io.StringIO())

    assert conversation.messages == []


def test_an_interrupted_answer_is_kept_as_far_as_it_came(
    conversation: Conversation, edge: Edge, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C ends an answer and not the conversation."""
    edge.interrupt = True

    with pytest.raises(KeyboardInterrupt):
        conversation.ask("?", sys.stdout)

    assert conversation.messages[-1]["content"] == "Paris."
    assert capsys.readouterr().out == "Paris.\n"


def test_a_person_can_begin_anew_and_end(
    conversation: Conversation,
    edge: Edge,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Commands are no questions."""
    typed = iter(["Capital?", "", "/reset", "/help", "And Spain's?", "/exit", "never asked"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(typed))

    talk(conversation)

    assert len(edge.asked) == 2
    assert len(conversation.messages) == 2


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_the_conversation_ends_at_the_prompt(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> None:
    """With Ctrl-D and with Ctrl-C, and without an error."""

    def leave(_prompt: str) -> str:
        raise end

    monkeypatch.setattr("builtins.input", leave)

    talk(conversation)


def test_each_line_of_a_pipe_is_a_question(
    conversation: Conversation, edge: Edge, capsys: pytest.CaptureFixture[str]
) -> None:
    """Empty lines are not."""
    answer_lines(conversation, io.StringIO("one\n\n two \n"))

    assert capsys.readouterr().out == "Paris.\nParis.\n"
    assert [request["messages"][-1]["content"] for request in edge.asked] == ["one", "two"]  # type: ignore[index]
