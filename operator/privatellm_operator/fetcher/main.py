"""``privatellm-fetch``: the command around the recipe.

Log lines are JSON on standard output. On failure the exit code is 1 and the last line of standard
error is JSON with ``reason`` and ``message``; with ``terminationMessagePolicy: FallbackToLogsOnError``
Kubernetes shows it as the container's termination message. On SIGTERM the partial file stays where
it is, and the next run continues it.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType

from privatellm_operator.fetcher import storage
from privatellm_operator.fetcher.arguments import parse_arguments
from privatellm_operator.fetcher.errors import FetchError
from privatellm_operator.fetcher.fetch import Fetched, fetch
from privatellm_operator.fetcher.job import Tools
from privatellm_operator.fetcher.progress import json_lines
from privatellm_operator.fetcher.request import FetchRequest
from privatellm_operator.fetcher.shown import shown

EXIT_FAILED = 1
EXIT_STOPPED = 128 + signal.SIGTERM


class Stopped(BaseException):
    """SIGTERM arrived; unwinds through every ``with`` so that the bytes so far are kept."""


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Fetch one file as the arguments say; the exit code tells whether it is there."""
    # The process may be number 1 of its container, where the default action would be to ignore.
    signal.signal(signal.SIGTERM, _stop)
    try:
        request = parse_arguments(
            sys.argv[1:] if argv is None else argv, os.environ if environ is None else environ
        )
        with shown(request.progress_address, json_lines(sys.stdout)) as log:
            report(request, fetch(request, Tools(log=log)))
    except FetchError as error:
        sys.stdout.flush()
        sys.stderr.write(error.to_line() + "\n")
        return EXIT_FAILED
    except Stopped:
        return EXIT_STOPPED
    return 0


def report(request: FetchRequest, fetched: Fetched) -> None:
    """Write what was fetched where the request wants it, for who records digests and counts fetches.

    The file is written in place, because a container's termination log is a mount that cannot be
    renamed over.
    """
    if request.report_file is None:
        return
    seen = {
        "sha256": fetched.sha256,
        "sizeBytes": fetched.size_bytes,
        "present": fetched.was_present,
    }
    text = json.dumps(seen)
    with storage.storage_errors(request.report_file):
        request.report_file.write_text(text + "\n", encoding="utf-8")


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise Stopped


if __name__ == "__main__":
    sys.exit(main())
