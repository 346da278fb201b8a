"""A million keys that nobody issued: none opens anything."""

import random
from base64 import b32encode
from collections.abc import Iterator
from itertools import islice

from auth_world import NOW, UPTIME, World, question
from privatellm.tokens import KEY_ID_LENGTH, SECRET_LENGTH, Token
from privatellm_authserver.bearer import checksum
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import Denied, Reason, verify
from privatellm_authserver.headers import RequestFacts

TRIALS = 1_000_000
ISSUED = 1_000


def guesses(key_ids: list[str]) -> Iterator[tuple[bytes, bytes]]:
    """Yield well-formed guesses: half of them know a key id, as a reader of logs does."""
    choose = random.Random(20261130)  # noqa: S311 - repeatable, and no worse than an attacker's
    for number in range(TRIALS):
        made_up = b32encode(choose.randbytes(8)).lower()[:KEY_ID_LENGTH]
        key_id = choose.choice(key_ids).encode() if number % 2 else made_up
        yield key_id, choose.randbytes(SECRET_LENGTH).hex()[:SECRET_LENGTH].encode()


def test_no_random_token_is_accepted() -> None:
    """Each is judged by the decision itself; form and checksum are right, so that nothing else stops it."""
    world = World()
    keys = [world.key(f"uid-{number}") for number in range(ISSUED)]
    honest = world.reader.read(
        question(f"Bearer {keys[0].token.reveal()}", f"/llm/{keys[0].slug}/v1/models", "GET")
    )
    now = Moment(NOW.timestamp(), UPTIME)
    assert not isinstance(verify(honest, world.index, now), Denied)
    fixed = honest[2:]

    outcomes = {
        verify(RequestFacts(key_id, secret, *fixed), world.index, now)
        for key_id, secret in guesses([key.token.key_id for key in keys])
    }

    assert outcomes == {Denied(Reason.INVALID_KEY)}


def test_guesses_of_this_kind_pass_the_parser() -> None:
    """So that the test above is about secrets, and not about spelling."""
    for key_id, secret in islice(guesses(["abcdefghijkl"]), 100):
        body = b"pllm_%s_%s" % (key_id, secret)
        assert Token.parse((body + checksum(body)).decode()).secret.encode() == secret
