"""``python -m privatellm_local.processes.tied PARENT PROGRAM [ARGUMENT...]``: a program that dies with us.

For parents that have threads, where nothing of ours may run between fork and exec: this process makes
the tie for itself and then becomes the program.
"""

import os
import signal
import sys

from privatellm_local.processes.child import end_with


def command(*argv: str) -> tuple[str, ...]:
    """Return the command line that runs ``argv`` tied to this process."""
    return (sys.executable, "-P", "-m", __name__, str(os.getpid()), *argv)


def main() -> None:
    """Tie this process to its parent and become the program."""
    end_with(int(sys.argv[1]), signal.SIGKILL)
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the argument vector is ours, no shell


if __name__ == "__main__":
    main()
