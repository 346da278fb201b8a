"""Log lines: one format, and no secret in any of them."""

import json
import logging
from base64 import b64encode
from collections.abc import Callable

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from privatellm.names import verifier_name
from privatellm.telemetry.logs import HIDDEN, LogFormat, configure_logging, without_secrets
from privatellm.tokens import Token
from privatellm.verifiers import hash_profile

TOKEN = Token.mint()
TEXT = TOKEN.reveal()
HASH = hash_profile().hash(TOKEN.secret)

pytestmark = pytest.mark.usefixtures("logging_as_before")


def fail(text: str) -> None:
    """Fail with a text in the message."""
    raise ValueError(text)


def log_a_field(text: str) -> None:
    """Log a text as a field."""
    structlog.get_logger("ours").info("something", detail=text)


def log_a_message(text: str) -> None:
    """Log a text as the message."""
    structlog.get_logger("ours").warning(text)


def log_an_object(text: str) -> None:
    """Log a text inside an object, as a manifest holds it."""
    structlog.get_logger("ours").info("something", manifest={"data": [{"key": text}]})


def log_bytes(text: str) -> None:
    """Log a text as bytes."""
    structlog.get_logger("ours").info("something", body=text.encode())


def log_a_traceback(text: str) -> None:
    """Log an exception whose message holds a text."""
    try:
        fail(text)
    except ValueError:
        structlog.get_logger("ours").exception("something")


def log_from_a_library(text: str) -> None:
    """Log as a library does."""
    logging.getLogger("library").error("sent %s", {"Authorization": f"Bearer {text}"})


def log_a_librarys_traceback(text: str) -> None:
    """Log an exception as a library does."""
    try:
        fail(text)
    except ValueError:
        logging.getLogger("library").exception("failed")


WAYS = (
    log_a_field,
    log_a_message,
    log_an_object,
    log_bytes,
    log_a_traceback,
    log_from_a_library,
    log_a_librarys_traceback,
)


@pytest.mark.parametrize("log_format", LogFormat)
@pytest.mark.parametrize("log", WAYS, ids=lambda way: way.__name__)
def test_no_way_of_logging_shows_a_secret(
    log: Callable[[str], None], log_format: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logging(log_format, "info")

    for text in (TEXT, HASH):
        log(text)

    written = capsys.readouterr().err
    assert TOKEN.secret not in written
    assert HASH.removeprefix("{SSHA256}") not in written
    assert TOKEN.key_id in written
    assert written.count(HIDDEN) >= 2


def test_a_token_as_a_secret_stores_it_is_hidden_too() -> None:
    stored = b64encode(TEXT.encode()).decode()

    assert stored[6:] not in without_secrets(f"data: {stored}")


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_stands_around_a_token_stays(before: str, after: str) -> None:
    shown = without_secrets(f"{before} {TEXT} {after}")

    assert TOKEN.secret not in shown
    assert f"pllm_{TOKEN.key_id}_{HIDDEN}" in shown


def test_key_ids_and_names_are_no_secrets() -> None:
    line = f"removed {verifier_name(TOKEN.key_id)} of key {TOKEN.key_id} (prefix pllm_)"

    assert without_secrets(line) == line


def test_a_line_of_json_can_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogFormat.JSON, "info")

    structlog.get_logger("ours").info("pass done", object="APITokenRequest acme/app")
    logging.getLogger("library").warning("odd")

    ours, library = map(json.loads, capsys.readouterr().err.splitlines())
    assert (ours["event"], ours["level"]) == ("pass done", "info")
    assert ours["object"] == "APITokenRequest acme/app"
    assert (library["event"], library["logger"]) == ("odd", "library")
    assert ours["timestamp"].endswith("Z")


def test_a_line_on_a_terminal_is_read_without_a_tool(capsys: pytest.CaptureFixture[str]) -> None:
    """When, how bad, what, and about which object, in one line and without JSON."""
    configure_logging(LogFormat.CONSOLE, "info")

    structlog.get_logger("ours").info("pass changed", object="LLMInstance acme/chat", seconds=0.2)

    [line] = capsys.readouterr().err.splitlines()
    moment, rest = line.split(" ", 1)
    assert moment.endswith("Z")
    assert rest.split() == ["[info", "]", "pass", "changed", *rest.split()[4:]]
    assert "object='LLMInstance acme/chat'" in rest
    assert "seconds=0.2" in rest
    assert "{" not in line


def test_lines_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(LogFormat.JSON, "warning")

    structlog.get_logger("ours").info("quiet")

    assert capsys.readouterr().err == ""


def test_a_line_begins_with_when_how_bad_and_what(capsys: pytest.CaptureFixture[str]) -> None:
    """For who reads JSON without a tool; the rest follows as it was given."""
    configure_logging(LogFormat.JSON, "info")
    structlog.get_logger("ours").info("something", b=1, a=2)
    logging.getLogger("theirs").warning("else")

    ours, theirs = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert list(ours) == ["timestamp", "level", "event", "b", "a"]
    assert list(theirs)[:3] == ["timestamp", "level", "event"]
