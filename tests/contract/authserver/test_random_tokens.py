"""A million keys that nobody issued, as an attacker would send them: none opens anything."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice

from auth_world import NOW, UPTIME, Headers, World, question
from privatellm.tokens import KEY_ID_LENGTH, SECRET_LENGTH, Token
from privatellm_authserver.bearer import checksum
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Denied, Reason, verify

TRIALS = 1_000_000
MALFORMED_TRIALS = 50_000
ISSUED = 1_000

BASE62 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BASE32 = b"abcdefghijklmnopqrstuvwxyz234567"


def attacker() -> random.Random:
    """Return a source of guesses that are the same in every run."""
    return random.Random(20261130)  # noqa: S311 - an attacker's is no better


def texts(choose: random.Random, alphabet: bytes, length: int) -> Iterator[bytes]:
    """Yield random texts of a length for ever; every character is as likely as any other."""
    usable = 256 // len(alphabet) * len(alphabet)
    table = bytes(alphabet[byte % len(alphabet)] for byte in range(256))
    while True:
        block = choose.randbytes(2**16).translate(table, bytes(range(usable, 256)))
        for start in range(0, len(block) - length + 1, length):
            yield block[start : start + length]


def guesses(choose: random.Random, key_ids: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield well-formed tokens with their secrets: half of them name a key, as a reader of logs can."""
    unknown = texts(choose, BASE32, KEY_ID_LENGTH)
    secrets = texts(choose, BASE62, SECRET_LENGTH)
    for known in cycle(key_ids):
        for key_id in (known, next(unknown)):
            secret = next(secrets)
            body = b"pllm_%s_%s" % (key_id, secret)
            yield body + checksum(body), secret


def malformed(choose: random.Random, key_ids: list[bytes]) -> Iterator[bytes]:
    """Yield tokens that a typing error, a proxy or a guesser makes of well-formed ones."""
    for token, _secret in guesses(choose, key_ids):
        position = choose.randrange(len(token))
        byte = bytes((choose.randrange(33, 127),))
        changed = token[:position] + byte + token[position + 1 :]
        if changed != token:
            yield changed
        yield token[:position]
        yield token[:position] + byte + token[position:]
        yield token.swapcase()


def questions(world: World, path: str) -> tuple[Headers, Headers]:
    """Return the headers that all questions for a path have in common, around ``Authorization``."""
    headers = question("", path, "GET")
    position = [name for name, _ in headers].index(b"authorization")
    return headers[:position], headers[position + 1 :]


def test_no_random_token_is_accepted() -> None:
    """Each one passes the parser, so that nothing but its secret stops it; malformed ones do not."""
    world = World()
    keys = [world.key(f"uid-{number}") for number in range(ISSUED)]
    key_ids = [key.key_id for key in keys]
    before, after = questions(world, f"/llm/{keys[0].slug}/v1/models")
    now = Moment(NOW.timestamp(), UPTIME)

    def judge(token: bytes) -> tuple[bytes, object]:
        facts = world.reader.read([*before, (b"authorization", b"Bearer " + token), *after])
        return facts.secret, verify(facts, world.index, now)

    _, honest = judge(keys[0].token.reveal().encode())
    assert not isinstance(honest, Denied)
    outcomes: Counter[tuple[bool, object]] = Counter()
    for token, secret in islice(guesses(attacker(), key_ids), TRIALS):
        read, decision = judge(token)
        outcomes[read == secret, decision] += 1
    for token in islice(malformed(attacker(), key_ids), MALFORMED_TRIALS):
        read, decision = judge(token)
        outcomes[read != b"", decision] += 1

    refused = Denied(Reason.INVALID_KEY)
    assert outcomes == {(True, refused): TRIALS, (False, refused): MALFORMED_TRIALS}


def test_guesses_have_the_form_of_a_token() -> None:
    """By the definition of that form, of which the parser at the edge is a fast copy."""
    seen = set()
    for token, secret in islice(guesses(attacker(), [b"abcdefghijkl"]), 1000):
        assert Token.parse(token.decode()).secret.encode() == secret
        seen |= set(secret)

    assert seen == set(BASE62)
