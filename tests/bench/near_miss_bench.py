"""Can the time of a denial tell how close a guess was? Many guesses of each kind, and a leak to be found.

Run ``python tests/bench/near_miss_bench.py --json FILE``. The service's own reader and decision are asked
over their own index about known key ids with a secret that is wrong everywhere, or in one character at its
start, in its middle or at its end, and about key ids that nobody has.

Where the bytes of a guess happen to lie in memory costs more than any of that: up to a tenth of a
microsecond between two guesses of one kind, for as long as they live. So each round takes another key and
makes one new guess of each kind, in an order and with memory that are drawn by lot, and asks about them in
turns. What is compared are kinds over rounds, never two guesses; ``bench_distance`` says when a difference
is more than chance. Twins, two guesses of the first kind in the same round, show that it is right about
what is equal. A planted leak shows that it finds what is not: in the same run, by the same means, a check
is measured that compares the secret character by character up to the first that is wrong.

A key id that exists costs its comparison in the look-up: up to a tenth of a microsecond, which is allowed
for. Key ids are public, so nothing secret follows from it. What an attacker sees has the network's noise
on top.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

from typing_extensions import override

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from auth_world import (
    MAX_STALENESS,
    NOW,
    PLATFORM_KEY,
    UPTIME,
    Headers,
    Key,
    World,
    make_key,
    question,
)
from bench_distance import LEVEL, Distance, distances
from bench_machine import described
from privatellm.tokens import SECRET_LENGTH, Token, new_key_id
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Denied, Reason, verify
from privatellm_authserver.index import Entry, EntryReader, TokenIndex

KEYS = 1_000
BATCH = 10
"""Decisions that are timed together: the clock's own step is as long as a fraction of one."""

TURNS = 9
"""How often each guess of a round is timed; the median counts."""

HELD = 1_000
"""Guesses that are kept alive, so that new ones lie in the holes between them."""

CONTROL_ROUNDS = 1_000
"""Rounds of the planted leak, which is large."""

NOON = Moment(NOW.timestamp(), UPTIME)
UNKNOWN = "unknown key id"
LOOK_UP_NS = 100.0
"""What a look-up that finds something may cost more than one that does not."""

LEAKED = ("wrong middle", "wrong last")
"""What a comparison that ends at the first wrong character takes longer for."""

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Leaky(Entry):
    """An entry that knows its secret, and takes the longer the more of a guess is right."""

    secret: bytes = field(default=b"", repr=False)

    @override
    def fits(self, secret: bytes) -> bool:
        """Compare up to the first wrong character."""
        return all(mine == theirs for mine, theirs in zip(self.secret, secret, strict=True))


class LeakyReader(EntryReader):
    """Makes leaky entries of verifiers whose secrets it was told."""

    def __init__(self, secrets: Mapping[bytes, bytes]) -> None:
        super().__init__(PLATFORM_KEY)
        self._secrets = secrets

    @override
    def read(self, secret: Mapping[str, Any]) -> Entry:
        entry = super().read(secret)
        facts = {each.name: getattr(entry, each.name) for each in fields(entry)}
        return Leaky(**facts, secret=self._secrets[entry.key_id])


class Guesses:
    """Makes guesses about a key, each of new objects."""

    def __init__(self, lot: random.Random) -> None:
        self._lot = lot
        self._held: list[Headers] = [[] for _ in range(HELD)]

    def of(self, key: Key) -> dict[str, Headers]:
        """Return a guess of each kind, as the questions that Traefik would ask."""
        known, secret = key.token.key_id, key.token.secret
        middle = self._lot.randrange(SECRET_LENGTH // 3, 2 * SECRET_LENGTH // 3)
        everywhere = range(SECRET_LENGTH)
        kinds = [
            ("wrong everywhere", known, everywhere),
            ("its twin", known, everywhere),
            ("wrong first", known, [0]),
            ("wrong middle", known, [middle]),
            ("wrong last", known, [SECRET_LENGTH - 1]),
            (UNKNOWN, new_key_id(), []),
        ]
        made = {
            kind: self._question(key, Token(key_id, self._wrong_at(secret, places)))
            for kind, key_id, places in self._lot.sample(kinds, len(kinds))
        }
        return {kind: made[kind] for kind, _, _ in kinds}

    def _question(self, key: Key, guess: Token) -> Headers:
        """Return a question, and let go of an old one, whose memory a next one gets."""
        headers = question(f"Bearer {guess.reveal()}", f"/llm/{key.slug}/v1/models", "GET")
        self._held[self._lot.randrange(HELD)] = headers
        return headers

    def _wrong_at(self, secret: str, places: Sequence[int]) -> str:
        """Return a secret with other characters at these places."""
        text = list(secret)
        for place in places:
            text[place] = self._lot.choice(DIGITS.replace(text[place], ""))
        return "".join(text)


def timed(world: World, headers: Headers) -> float:
    """Return nanoseconds of one decision."""
    read, index = world.reader.read, world.index
    started = time.perf_counter_ns()
    for _ in range(BATCH):
        verify(read(headers), index, NOON)
    return (time.perf_counter_ns() - started) / BATCH


def one_round(world: World, guesses: Mapping[str, Headers], lot: random.Random) -> dict[str, float]:
    """Return the median nanoseconds of each guess, asked in turns."""
    seen: dict[str, list[float]] = {kind: [] for kind in guesses}
    for _ in range(TURNS):
        for kind in lot.sample(list(guesses), len(guesses)):
            seen[kind].append(timed(world, guesses[kind]))
    return {kind: statistics.median(times) for kind, times in seen.items()}


def measure(world: World, keys: Sequence[Key], rounds: int) -> list[Distance]:
    """Return how far each kind is from the first one."""
    lot = random.Random()  # noqa: S311 - memory and order, nothing secret
    guesses = Guesses(lot)
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        made = guesses.of(lot.choice(keys))
        for kind, headers in made.items():
            answer = verify(world.reader.read(headers), world.index, NOON)
            assert answer == Denied(Reason.INVALID_KEY), f"{kind}: {answer}"
        for kind, ns in one_round(world, made, lot).items():
            times.setdefault(kind, []).append(ns)
    return distances(times, {UNKNOWN: LOOK_UP_NS})


def world_of(reader: EntryReader, keys: Sequence[Key]) -> World:
    """Return a world whose index knows these keys."""
    world = World(index=TokenIndex(reader, MAX_STALENESS))
    for key in keys:
        world.add(key)
    return world


def bench(rounds: int) -> dict[str, Any]:
    """Measure what ships and the planted leak; return everything as plain data."""
    keys = [make_key(f"uid-{number}") for number in range(KEYS)]
    ours = measure(world_of(EntryReader(PLATFORM_KEY), keys), keys, rounds)
    secrets = {key.key_id: key.token.secret.encode() for key in keys}
    control = measure(world_of(LeakyReader(secrets), keys), keys, CONTROL_ROUNDS)
    return {**described(), **report(ours, control), "rounds": rounds}


def report(ours: Sequence[Distance], control: Sequence[Distance]) -> dict[str, Any]:
    """Return the distances, the kinds that are told, and what of the planted leak was not found."""
    found = {row.kind for row in control if row.is_told}
    return {
        "level": LEVEL,
        "look_up_ns": LOOK_UP_NS,
        "rows": [told(row) for row in ours],
        "visible": [row.kind for row in ours if row.is_told],
        "control": [told(row) for row in control],
        "missed": [kind for kind in LEAKED if kind not in found],
    }


def told(row: Distance) -> dict[str, Any]:
    """Return a distance as the page shows it."""
    return {
        "kind": row.kind,
        "ns": round(row.ns),
        "difference_ns": round(row.difference_ns, 1),
        "noise_ns": round(row.noise_ns, 1),
    }


def write_table(figures: Mapping[str, Any], out: TextIO) -> None:
    """Write the differences beside what chance alone does."""
    for what, rows in (("what ships", figures["rows"]), ("a planted leak", figures["control"])):
        out.write(f"{what}: nanoseconds, difference, chance alone\n")
        out.writelines(
            f"  {row['kind']:18} {row['ns']:6d} {row['difference_ns']:+8.1f} {row['noise_ns']:7.1f}\n"
            for row in rows
        )
    out.write(f"{UNKNOWN} may differ by {LOOK_UP_NS:.0f}.\n")


def main() -> None:
    """Measure, print, write JSON when asked; fail when a kind is told, or the planted leak is not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--rounds", type=int, default=20_000)
    options = parser.parse_args()
    figures = bench(options.rounds)
    write_table(figures, sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if figures["missed"]:
        raise SystemExit(f"The planted leak was not found: {', '.join(figures['missed'])}.")
    if figures["visible"]:
        raise SystemExit(f"Told from others by its time: {', '.join(figures['visible'])}.")


if __name__ == "__main__":
    main()
