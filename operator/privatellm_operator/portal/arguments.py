"""The command line of the portal content server."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from privatellm.telemetry.logs import LogFormat

DEFAULT_PATH = "/pm-content.json"
DEFAULT_PORT = 8092

_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_TAKEN = ("/healthz", "/readyz")


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the command line asks for.

    Attributes:
        file: The document.
        path: Path that it is served at.
        host: Address to listen on.
        port: Port to listen on.
        log_format: How log lines look.
    """

    file: Path
    path: str
    host: str
    port: int
    log_format: LogFormat


def parse(arguments: list[str]) -> Arguments:
    """Read the command line; a mistake ends the process with code 2 and a sentence."""
    parser = argparse.ArgumentParser(prog="privatellm-portal", allow_abbrev=False)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--path", type=_path, default=DEFAULT_PATH)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--log-format", type=LogFormat, default=LogFormat.JSON)
    given = parser.parse_args(arguments)
    return Arguments(given.file, given.path, given.host, given.port, given.log_format)


def _path(text: str) -> str:
    # Nodes that confine pods to their own files take an argument that begins with a slash for a file.
    path = text if text.startswith("/") else f"/{text}"
    if not _PATH.fullmatch(path) or path in _TAKEN:
        raise argparse.ArgumentTypeError(
            f"must be a path of plain segments other than a probe's, such as {DEFAULT_PATH}; got {text!r}"
        )
    return path
