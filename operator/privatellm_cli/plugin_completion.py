"""``kubectl_complete-llm``: what kubectl asks for the words that may follow ``kubectl llm``.

kubectl runs it with the words so far, the last one unfinished, and reads one offer a line and a directive
in the end (the protocol of cobra, ``ShellCompDirective``). The offers are those of ``privatellm``: its
parser answers in the protocol of bash.
"""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Sequence

from privatellm_cli import application

VARIABLES = {"_PRIVATELLM_COMPLETE": "complete_bash"}
NO_FILES = 4
"""The directive that keeps the shell from offering files."""

DEFAULT = 0
"""The directive that leaves it to the shell, which offers files where we have nothing to offer."""


def main(words: Sequence[str] | None = None) -> int:
    """Print what may follow the words so far and how the shell should take it."""
    given = list(sys.argv[1:] if words is None else words)
    found = offers(given)
    for offer in found:
        sys.stdout.write(f"{offer}\n")
    sys.stdout.write(f":{NO_FILES if found else DEFAULT}\n")
    return 0


def offers(words: Sequence[str]) -> list[str]:
    """Return what may stand in the place of the last word."""
    asked = {
        "COMP_WORDS": shlex.join(["privatellm", *words]),
        "COMP_CWORD": str(len(words)),
    }
    os.environ.update(VARIABLES | asked)
    printed = io.StringIO()
    # The parser ends the program after answering.
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        application.application()(args=[], prog_name="privatellm")
    return printed.getvalue().split()
