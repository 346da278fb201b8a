"""``python -m privatellm_local.processes --state DIR``: run the supervisor of one environment."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from privatellm_local import files
from privatellm_local.paths import StatePaths
from privatellm_local.processes.child import end_with
from privatellm_local.processes.supervisor import Supervisor

log = logging.getLogger("supervisor")

ALREADY_RUNNING = 3


def main() -> int:
    """Supervise until told to stop; return 3 when another supervisor owns the directory."""
    parser = argparse.ArgumentParser(prog="privatellm-supervisor")
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--attached-to", type=int, help="stop when this process, our parent, ends")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    os.umask(0o077)
    if options.attached_to is not None:
        end_with(options.attached_to, signal.SIGTERM)
    paths = StatePaths(options.state)
    with files.exclusive_lock(paths.supervisor_lock, wait=False) as is_ours:
        if not is_ours:
            log.error("another supervisor runs in %s", paths.root)
            return ALREADY_RUNNING
        asyncio.run(Supervisor(paths).run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
