"""Near misses of good requests, judged by the decision and, from scratch, by an oracle.

The oracle is the table of the design in a few lines, written with other means than the product: regular
expressions over all headers in place of fixed positions and sets. Both must agree about every request.
"""

import re
from random import Random

from hypothesis import example, find, given, settings
from hypothesis import strategies as st

import thoroughness
from auth_world import NOW, PUBLIC_HOST, UPTIME, Headers, World, question, question_for
from edge_mutations import detours, mutations
from privatellm_authserver.clocks import Moment
from privatellm_authserver.decision import verify
from privatellm_authserver.index import Allowed

CHAT = "/v1/chat/completions"
LISTED = {
    *(("POST", CHAT), ("POST", "/v1/completions"), ("POST", "/v1/embeddings")),
    *(("POST", "/v1/responses"), ("POST", "/v1/rerank"), ("POST", "/chat/completions")),
    *(("GET", "/v1/models"), ("GET", "/models"), ("GET", "/health")),
}
TRUSTED = {
    *(b"authorization", b"x-forwarded-method", b"x-forwarded-uri", b"x-forwarded-host"),
    *(b"x-private-llm-key-id", b"x-private-llm-instance"),
}

WORLD = World()
KEY, OTHER, REVOKED = WORLD.key(), WORLD.key("uid-2"), WORLD.key()
WORLD.index.remove(REVOKED.verifier_name, UPTIME)
LIVE = {key.token.reveal().encode(): key for key in (KEY, OTHER)}
# One header that decides nothing is enough; changes in others would be wasted.
GOOD = [
    [field for field in question_for(key) if field[0] in {*TRUSTED, b"user-agent"}]
    for key in (KEY, OTHER, REVOKED)
]
WORDS = (
    *(f"Bearer {key.token.reveal()}".encode() for key in (KEY, OTHER, REVOKED)),
    *(f"/llm/{key.slug}{path}".encode() for key in (KEY, OTHER) for _, path in sorted(LISTED)),
    *(b"GET", b"POST", b"HEAD", b"OPTIONS", b"", b"x", b"Basic eDp5"),
    *(PUBLIC_HOST.encode(), f"{PUBLIC_HOST}:443".encode(), b"evil.example.com"),
)
ATTEMPTS = st.sampled_from(GOOD).flatmap(lambda good: mutations(good, WORDS))


def opened_by(headers: Headers) -> bytes | None:
    """Return the id of the key by which the design lets a request in; ``None`` when it does not."""
    once = {n: v for n, v in headers if [name for name, _ in headers].count(n) == 1}
    bearer = re.fullmatch(rb"(?i:bearer) +([^ ]+) *", once.get(b"authorization", b""))
    key = LIVE.get(bearer[1]) if bearer else None
    folded = [n for n, _ in headers if re.sub(rb"[^a-z0-9]", b"-", n.lower()) in TRUSTED]
    host = once.get(b"x-forwarded-host", b"").lower()
    uri = once.get(b"x-forwarded-uri", b"")
    target = re.fullmatch(rb"/llm/([^/?]+)([^?]*)(\?.*)?", uri, re.DOTALL)
    if not key or not target or not TRUSTED.issuperset(folded) or target[1] != key.slug.encode():
        return None
    asked = (once.get(b"x-forwarded-method", b"").decode("latin-1"), target[2].decode("latin-1"))
    is_ours = re.fullmatch(re.escape(PUBLIC_HOST.encode()) + rb"(:80|:443)?", host)
    return key.key_id if asked in LISTED and is_ours else None


def assert_judged_as_designed(headers: Headers) -> None:
    """Check that the decision and the oracle let in the same requests."""
    decision = verify(WORLD.reader.read(headers), WORLD.index, Moment(NOW.timestamp(), UPTIME))

    let_in = decision.key_id if isinstance(decision, Allowed) else None
    assert let_in == opened_by(headers)


@given(headers=ATTEMPTS)
@example(headers=GOOD[0])
@example(headers=question_for(OTHER, "/v1/models?key=x", "GET", host=f"{PUBLIC_HOST.upper()}:80"))
@example(headers=GOOD[2])
@example(headers=question(f"Bearer {OTHER.token.reveal()}", f"/llm/{KEY.slug}{CHAT}"))
@settings(max_examples=thoroughness.examples(500))
def test_a_request_is_let_in_exactly_when_all_of_it_is_right(headers: Headers) -> None:
    """The exact token, for the exact instance, on a listed path; and then it is never refused."""
    assert_judged_as_designed(headers)


@given(listed=st.sampled_from(sorted(LISTED)), data=st.data())
@settings(max_examples=thoroughness.examples(300))
def test_a_path_opens_exactly_when_it_is_listed(
    listed: tuple[str, str], data: st.DataObject
) -> None:
    """Byte for byte, and with its own method; whatever is added, doubled, encoded or left out."""
    method, path = listed
    uri = data.draw(detours(f"/llm/{KEY.slug}{path}".encode())).decode("latin-1")

    assert_judged_as_designed(question(f"Bearer {KEY.token.reveal()}", uri, method))


def test_some_near_misses_are_none() -> None:
    """A changed request that is as good as before is among them, so letting in is judged as well."""

    def still_opens(headers: Headers) -> bool:
        return headers not in GOOD and opened_by(headers) is not None

    assert find(ATTEMPTS, still_opens, random=Random(1))  # noqa: S311 - repeatable
