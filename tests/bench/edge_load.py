"""The load of ``edge_bench.py``, a process of its own.

The order comes as JSON on stdin; the answer is a line of JSON on stdout, with the share of a core that
this program used itself: beyond a half, it may be what is measured.
"""

import json
import sys
from pathlib import Path

import uvloop

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from bench_client import Order, load


def main() -> None:
    """Read the order, load, tell."""
    order = Order(**json.loads(sys.stdin.read()))
    sys.stdout.write(json.dumps(uvloop.run(load(order))) + "\n")


if __name__ == "__main__":
    main()
