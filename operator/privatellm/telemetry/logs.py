"""Structured logs: JSON for machines, columns for a terminal, never a token.

Standard-library records (kopf, aiohttp, uvicorn) pass through the same processors, so one line looks
like the next. As the last processor, anything that has the form of a token loses its secret: a second
line of defence behind the rule that nobody logs one.
"""

import logging
import re
import sys
from collections.abc import MutableMapping
from enum import StrEnum
from typing import Any

import structlog

from privatellm.tokens import KEY_ID_PATTERN, PREFIX

_TOKEN = re.compile(rf"{PREFIX}_({KEY_ID_PATTERN})_[0-9A-Za-z]+")

EventDict = MutableMapping[str, Any]


class LogFormat(StrEnum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


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
        without_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _add_logger_name, without_secrets],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(log_format),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


def without_secrets(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Replace the secret of every token in the event's texts."""
    for key, value in event.items():
        if isinstance(value, str) and PREFIX in value:
            event[key] = _TOKEN.sub(rf"{PREFIX}_\1_[hidden]", value)
    return event


def _add_logger_name(_logger: Any, _method: str, event: EventDict) -> EventDict:
    record = event.get("_record")
    if record is not None:
        event["logger"] = record.name
    return event


def _renderer(log_format: LogFormat) -> structlog.typing.Processor:
    if log_format is LogFormat.JSON:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
