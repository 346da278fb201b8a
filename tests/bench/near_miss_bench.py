"""Can the time of a denial tell how close a guess was? Each kind of guess beside itself.

Run ``python tests/bench/near_miss_bench.py --json FILE``. The decision is asked about known key ids with a
secret that is wrong everywhere, or at its first, middle or last character, and about a key id that is
unknown. Kinds are shuffled within each round, so that what else the machine does falls on all of them
alike. Beside the difference of each kind's median from the first kind stands that of a second, equal sample
of the first kind: differences of that size are noise. What an attacker sees has the network's noise on top.

A key id that exists costs its comparison in the look-up, and caches remember it: up to a tenth of a
microsecond, which is allowed for. Key ids are public, so nothing secret follows from it.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from auth_world import NOW, UPTIME, World, question
from bench_machine import described
from privatellm.tokens import KEY_ID_LENGTH, SECRET_LENGTH, Token
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Denied, verify

KEYS = 1_000
BATCH = 20
"""Decisions that are timed together: the clock's own step is as long as a fraction of one."""

NOISE_FACTOR = 4.0
"""A difference counts as visible when it is this many times the noise, and above the floor."""

FLOOR_NS = 20.0

UNKNOWN = "unknown key id"
LOOK_UP_NS = 200.0
"""What a look-up that finds something may cost more than one that does not."""

Ask = Callable[[], object]


def wrong_at(secret: str, *places: int) -> str:
    """Return a secret with other characters at these places."""
    text = list(secret)
    for place in places:
        text[place] = "0" if text[place] != "0" else "1"
    return "".join(text)


def kinds(world: World) -> Mapping[str, Ask]:
    """Return a decision for each kind of guess; the first kind is there twice."""
    key = [world.key(f"uid-{number}") for number in range(KEYS)][KEYS // 2]
    secret, now = key.token.secret, Moment(NOW.timestamp(), UPTIME)

    def asking(key_id: str, guess: str) -> Ask:
        authorization = f"Bearer {Token(key_id, guess).reveal()}"
        headers = question(authorization, f"/llm/{key.slug}/v1/models", "GET")

        def ask() -> object:
            return verify(world.reader.read(headers), world.index, now)

        assert isinstance(ask(), Denied)
        return ask

    everywhere = wrong_at(secret, *range(SECRET_LENGTH))
    return {
        "wrong everywhere": asking(key.token.key_id, everywhere),
        "the same again": asking(key.token.key_id, everywhere),
        "wrong first": asking(key.token.key_id, wrong_at(secret, 0)),
        "wrong middle": asking(key.token.key_id, wrong_at(secret, SECRET_LENGTH // 2)),
        "wrong last": asking(key.token.key_id, wrong_at(secret, SECRET_LENGTH - 1)),
        UNKNOWN: asking("a" * KEY_ID_LENGTH, secret),
    }


def timed(ask: Ask) -> float:
    """Return nanoseconds of one decision."""
    started = time.perf_counter_ns()
    for _ in range(BATCH):
        ask()
    return (time.perf_counter_ns() - started) / BATCH


def measure(asks: Mapping[str, Ask], rounds: int) -> dict[str, float]:
    """Return the median nanoseconds of each kind."""
    samples: dict[str, list[float]] = {name: [] for name in asks}
    order = list(asks.items())
    for _ in range(rounds):
        random.shuffle(order)
        for name, ask in order:
            samples[name].append(timed(ask))
    return {name: statistics.median(values) for name, values in samples.items()}


def judge(medians: Mapping[str, float]) -> dict[str, Any]:
    """Return each kind's difference from the first one, and whether every one is noise or allowed for."""
    base, again = list(medians.values())[:2]
    noise = max(abs(again - base) * NOISE_FACTOR, FLOOR_NS)
    allowed = {UNKNOWN: max(noise, LOOK_UP_NS)}
    rows = [
        {"kind": kind, "ns": round(value), "difference_ns": round(value - base, 1)}
        for kind, value in medians.items()
    ]
    visible = [
        kind for kind, value in medians.items() if abs(value - base) > allowed.get(kind, noise)
    ]
    return {
        **described(),
        "noise_ns": round(noise, 1),
        "look_up_ns": LOOK_UP_NS,
        "rows": rows,
        "visible": visible,
    }


def write_table(figures: Mapping[str, Any], out: TextIO) -> None:
    """Write the differences, and what counts as noise."""
    out.write(f"{figures['date']}, medians in nanoseconds\n")
    out.writelines(
        f"{row['kind']:18} {row['ns']:8d} {row['difference_ns']:+8.1f}\n" for row in figures["rows"]
    )
    out.write(
        f"Below {figures['noise_ns']:.1f} is noise; {UNKNOWN} may differ by {LOOK_UP_NS:.0f}.\n"
    )


def main() -> None:
    """Measure, print, write JSON when asked, and fail when a kind of guess stands out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--rounds", type=int, default=20_000)
    options = parser.parse_args()
    figures = judge(measure(kinds(World()), options.rounds))
    write_table(figures, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if figures["visible"]:
        raise SystemExit(f"Told from others by its time: {', '.join(figures['visible'])}.")


if __name__ == "__main__":
    main()
