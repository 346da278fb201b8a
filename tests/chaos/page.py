"""Write the page of faults from what the suite left.

Run ``python tests/chaos/page.py build/chaos/report.json docs/reference/faults.md``. The sentences around
the table say what the columns mean and nothing of the figures; those belong to the machine that is named.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from bench_machine import told

Figures = dict[str, Any]

HEAD = """# What happens when a part dies

What `make chaos` measured on the machine and the day named below. Each fault hits the embedded
environment, with the real parts, while customers ask the model through the edge and others order and end
keys and instances. An audit follows each fault. The whole run took {minutes:.0f} minutes.

* **lasted**: seconds from the beginning of the fault until what was broken was whole; nothing for a
  kill, which is over at once, but with fetcher, sync agent and kcp until the instance was ready or both
  sides agreed.
* **refused**: requests with a good key that were not answered with 200, out of all of them, and what was
  answered instead.
* **answered again**: seconds from the fault's end to the last such answer.
* **new key**: seconds from the fault's end until a key that was ordered then opened its instance.
* **audit**: seconds that the audit waited until nothing was wrong with any object, key, process or pod.
* **ended keys**: keys whose verifier was removed, or that expired, from the fault on; and how many seconds
  after that one of them was last let in, where one was. It may be 60 s where the ForwardAuth service is cut
  off, 10 s where its watch breaks, 3 s elsewhere, and nothing from the moment in which everybody lets in a
  key that was ordered later.

Requests with keys that must not open anything (revoked, deleted, expired, another instance's, forged, and
those that ended meanwhile) went through every fault, too. {allowed} of {dead} were let in later than that.
"""

TAIL = """
## What the audit looks at

Every order that the API server acknowledged is there, and nothing is stuck in its deletion. Every child
is as its order says. Statuses are true. Each request has one verifier and its Secret the key that fits,
or none of both when it has ended. Every live key is accepted and every dead one refused, by the edge and
by each ForwardAuth service. No verifier is without its request, no child and no pod without its owner,
no process and no directory on the node without its pod. The shared middlewares are as the settings say.
`tests/unit/chaos/test_audit.py` plants each of these troubles and sees that it is found.

During the faults of sync agent and kcp a customer of a workspace orders, changes and ends. Workspace and
service cluster are compared then, and again when all of that has ended: each acknowledged order has one
copy with its spec and says what its copy says, no copy is without its order, each key's Secret is in the
workspace and opens the endpoint, and keys that were ended open nothing.
`tests/unit/chaos/test_sync_audit.py` plants each trouble between the two.

## What is not played

The machine's own clock is not set: operator and ForwardAuth service read a clock that a test steps, and
the programs that are not ours keep the right time. There is one etcd, one API server, one Traefik and
one node here, so what several of them would hide is in the figures. That a model server which hangs for
ten minutes is [ended by its probe](../adr/0077-a-server-that-hangs-is-ended.md) is not waited for.
"""


def page(figures: Figures) -> str:
    """Return the page."""
    rows = figures["faults"]
    dead = sum(row["dead_requests"] for row in rows)
    allowed = sum(row["wrong_allows"] for row in rows)
    head = HEAD.format(
        minutes=figures["seconds"] / 60,
        allowed=allowed or "None",
        dead=f"{dead:,}".replace(",", " "),
    )
    table = [
        "| fault | lasted | refused | answered again | new key | audit | ended keys | and |",
        "|---" * 8 + "|",
    ]
    return "\n".join([head, *table, *map(_line, rows), "", _machine(figures), TAIL])


def _line(row: Figures) -> str:
    refused = sum(row["refused"].values())
    how = ", ".join(f"{count} {what}" for what, count in sorted(row["refused"].items()))
    cells = (
        row["fault"],
        f"{row['lasted']:.1f} s" if row["lasted"] else "",
        f"{refused} of {row['requests']}" + (f" ({how})" if how else ""),
        f"{row['answered_after']:.1f} s" if refused else "",
        f"{row['ordered_after']:.1f} s",
        f"{row['audited_after']:.1f} s",
        str(row["ended_keys"]) + (f" ({row['outlived']:.1f} s)" if row["outlived"] else ""),
        "; ".join(_figure(what, value) for what, value in row["figures"].items()),
    )
    return f"| {' | '.join(cells)} |"


def _figure(what: str, value: float) -> str:
    name, _, unit = what.partition(" (")
    return f"{name}: {value:.0f}" if unit else f"{name}: {value:.1f} s"


def _machine(figures: Figures) -> str:
    loads = [row["load"] for row in figures["faults"]]
    return told(figures, f"from {min(loads):.0f} to {max(loads):.0f}")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", type=Path, help="the JSON that the suite wrote")
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    figures = json.loads(options.figures.read_text())
    options.page.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
