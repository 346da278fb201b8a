"""What a fetcher reports in its termination message."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from privatellm.api.llm_model import SHA256_PATTERN


@dataclass(frozen=True, slots=True)
class Report:
    """What a fetch saw."""

    sha256: str
    size_bytes: int


def parse_report(message: str) -> Iterator[Report]:
    """Yield the report in a termination message, if there is one."""
    try:
        report = json.loads(message)
    except ValueError:
        return
    if not isinstance(report, dict):
        return
    sha256, size = str(report.get("sha256")), report.get("sizeBytes")
    if re.fullmatch(SHA256_PATTERN, sha256) and isinstance(size, int):
        yield Report(sha256, size)
