"""``python -m privatellm_local.processes --state DIR --lock FD``: run one environment's supervisor.

The lock comes from whoever starts us, already taken: see :mod:`privatellm_local.processes.control`.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from privatellm_local.paths import StatePaths
from privatellm_local.processes.child import end_with
from privatellm_local.processes.holding import Lock
from privatellm_local.processes.supervisor import Supervisor


def main() -> int:
    """Supervise until told to stop."""
    parser = argparse.ArgumentParser(prog="privatellm-supervisor")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--lock", type=int, required=True, help="descriptor of the lock we hold")
    parser.add_argument("--attached-to", type=int, help="stop when this process, our parent, ends")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    os.umask(0o077)
    if options.attached_to is not None:
        end_with(options.attached_to, signal.SIGTERM)
    paths = StatePaths(options.state)
    # Components must not inherit it: one that outlived us would pass for a supervisor.
    os.set_inheritable(options.lock, False)  # noqa: FBT003 - the standard library's signature
    asyncio.run(Supervisor(paths, Lock(paths.supervisor_lock, options.lock)).run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
