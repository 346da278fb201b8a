"""Structured logs: JSON for machines, columns for a terminal, never a token.

Standard-library records (kopf, aiohttp, uvicorn) pass through the same processors, so one line looks
like the next. The finished line is searched for secrets, whatever object, list or traceback they came
from: tokens, tokens as a Secret stores them, and hashes. That is a second line of defence behind the rule
that nobody logs one.
"""

import logging
import re
import sys
from base64 import b64encode
from collections.abc import MutableMapping
from enum import StrEnum
from typing import Any

import structlog
from typing_extensions import override

from privatellm.telemetry.repetition import SUPPRESSED, RepeatedLines
from privatellm.tokens import PREFIX
from privatellm.verifiers import SCHEME_MARK

HIDDEN = "[hidden]"
"""What stands in a line where a secret was."""

_TOKEN = re.compile(rf"({PREFIX}_[0-9A-Za-z]*_)[0-9A-Za-z]+")
_HASH = re.compile(rf"({re.escape(SCHEME_MARK)})[0-9A-Za-z+/=]+")
_STORED_TOKEN = re.compile(
    rf"({b64encode(f'{PREFIX}_'.encode())[:6].decode()})[0-9A-Za-z+/=]{{20,}}"
)
"""A token in base64, which is how a Secret holds it; six characters do not depend on what follows."""

_REPETITIVE = ("opentelemetry.", "privatellm.telemetry.")
"""Loggers that say the same with every batch of spans while a collector is away."""

_HEADS = ("timestamp", "level", "event")

EventDict = MutableMapping[str, Any]


class LogFormat(StrEnum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """How bad a line must be to be written; read in any case."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @classmethod
    @override
    def _missing_(cls, value: object) -> "LogLevel | None":
        return next((level for level in cls if level == str(value).lower()), None)


def configure_logging(log_format: LogFormat, level: str) -> None:
    """Send every log record of this process to stderr in one format.

    Args:
        log_format: JSON lines or columns.
        level: Name of the lowest level that is written, such as ``info``.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _RedactingFormatter(
            foreign_pre_chain=[*shared, _add_logger_name],
            processors=[
                _add_suppressed,
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _heads_first,
                _renderer(log_format),
            ],
        )
    )
    handler.addFilter(RepeatedLines(_REPETITIVE))
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


def without_secrets(text: str) -> str:
    """Return a text in which every token and hash lost its secret part; key ids stay readable."""
    for pattern in (_TOKEN, _HASH, _STORED_TOKEN):
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return text


class _RedactingFormatter(structlog.stdlib.ProcessorFormatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


def _heads_first(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Begin a line with when, how bad and what, for who reads JSON without a tool."""
    return {name: event[name] for name in _HEADS if name in event} | dict(event)


def _add_logger_name(_logger: Any, _method: str, event: EventDict) -> EventDict:
    record = event.get("_record")
    if record is not None:
        event["logger"] = record.name
    return event


def _add_suppressed(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Tell how many lines like this one were left out."""
    suppressed = getattr(event["_record"], SUPPRESSED, 0)
    return dict(event) | {SUPPRESSED: suppressed} if suppressed else event


def _renderer(log_format: LogFormat) -> structlog.typing.Processor:
    if log_format is LogFormat.JSON:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
