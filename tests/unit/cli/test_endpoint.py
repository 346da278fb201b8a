import httpx
import pytest

from privatellm_cli import endpoint
from privatellm_cli.endpoint import Endpoint
from privatellm_cli.errors import EndpointError


def test_a_key_is_in_no_repr() -> None:
    """Whatever is logged or shown by a debugger."""
    assert "pllm_secret" not in repr(Endpoint("http://e/v1", "pllm_secret"))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('data: {"choices": [{"delta": {"content": "Par"}}]}', "Par"),
        ('data: {"choices": [{"delta": {"content": null}}]}', ""),
        ('data: {"choices": [], "usage": {"completion_tokens": 3}}', ""),
        ('data: {"choices": [{"delta": {"role": "assistant"}}]}', ""),
    ],
)
def test_a_piece_of_an_answer_is_read_off_its_event(line: str, text: str) -> None:
    """Events without text are none of the reader's business."""
    event = endpoint.event_of(line)

    assert event is not None
    assert endpoint.text_of(event) == text


@pytest.mark.parametrize("line", ["", ": ping", "event: x", "data: [DONE]", "data:"])
def test_lines_that_carry_no_event_are_skipped(line: str) -> None:
    """Comments keep a connection alive."""
    assert endpoint.event_of(line) is None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('data: {"error": {"message": "out of memory"}}', "out of memory"),
        ('error: {"error": {"message": "no slot"}}', "no slot"),
        ("data: <html>", "no event of the API"),
        ("data: [1, 2]", "no event of the API"),
        ("data: " + "[" * 4000, "no event of the API"),
        ("error: " + "[" * 4000, "The server broke off"),
    ],
)
def test_an_answer_that_breaks_off_says_why(line: str, said: str) -> None:
    """llama.cpp reports an error in the middle of a stream."""
    with pytest.raises(EndpointError, match=said):
        endpoint.event_of(line)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, b'{"error": {"message": "No valid API key."}}', "No valid API key. The key is not"),
        (403, b'{"error": {"code": "wrong_instance"}}', "opens another instance"),
        (404, b"404 page not found", "404 page not found. The edge has no route"),
        (429, b"", "limit is reached"),
        (503, b"\xff", "No server is ready"),
        (418, b'{"error": "teapot"}', "418: teapot."),
    ],
)
def test_a_refusal_comes_with_the_next_step(status: int, body: bytes, said: str) -> None:
    """Whatever the body is."""
    assert said in str(endpoint.refusal(status, body))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ConnectError("refused"), "cannot be reached"),
        (httpx.ReadTimeout("slow"), "was silent"),
        (httpx.RemoteProtocolError("peer closed"), "broke off: peer closed"),
    ],
)
def test_failures_of_the_transport_are_one_sentence(error: Exception, said: str) -> None:
    """Nobody has to know the client's exceptions."""
    with pytest.raises(EndpointError, match=said), endpoint.translated("http://e"):
        raise error


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("http://127.0.0.1:21000/v1", False),
        ("http://localhost/v1", False),
        ("https://llm.example/v1", True),
    ],
)
def test_a_proxy_is_not_asked_for_an_edge_on_this_machine(url: str, trusted: bool) -> None:
    """It could not reach it."""
    assert endpoint.trusts_environment(url) is trusted
