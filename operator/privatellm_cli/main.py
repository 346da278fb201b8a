"""Where the command begins: Ctrl-C is caught before anything is imported that takes time.

Nothing but small parts of the standard library is imported at the top of this file. What the command
does, and every other error, is in :mod:`privatellm_cli.application`.
"""

import os
import sys
from collections.abc import Sequence

DEBUG_VARIABLE = "PRIVATE_LLM_DEBUG"
"""With any value, errors come with their traceback."""

INTERRUPTED = 130
"""What shells return for a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    try:
        # A whole second on a busy machine, in which a person may change their mind.
        from privatellm_cli import application  # noqa: PLC0415

        return application.run(arguments)
    except KeyboardInterrupt:
        if DEBUG_VARIABLE in os.environ:
            raise
        sys.stderr.write("error: Interrupted.\n")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
