"""What a fetcher reports in its termination message."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from privatellm.api.llm_model import SHA256_PATTERN
from privatellm.errors import InvalidInputError
from privatellm.foreign import parse_json


@dataclass(frozen=True, slots=True)
class Report:
    """What a fetch saw."""

    sha256: str
    size_bytes: int


def parse_report(message: str) -> Iterator[Report]:
    """Yield the report in a termination message, if there is one."""
    try:
        report = parse_json(message)
    except InvalidInputError:
        return
    match report:
        case {"sha256": str(sha256), "sizeBytes": int(size)} if re.fullmatch(
            SHA256_PATTERN, sha256
        ):
            yield Report(sha256, size)
