"""Verifiers: stored and read back, checked, and silent about what they hold."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passlib.hash import ldap_salted_sha256, ldap_sha1

from privatellm import labels
from privatellm.errors import MalformedVerifierError
from privatellm.names import slug_of
from privatellm.tokens import Token
from privatellm.verifiers import SECRET_TYPE, Digest, Verifier, hash_profile

ISSUED = datetime(2026, 3, 1, 12, tzinfo=UTC)
UID = "1d0c8a52-55f5-4b61-93b2-7b1f3a0a9e11"
PROFILE = hash_profile()


def a_verifier(token: Token | None = None, **fields: Any) -> Verifier:
    """Return the verifier of a token."""
    token = token or Token.mint()
    return Verifier(
        **{
            "key_id": token.key_id,
            "hash": PROFILE.hash(token.secret),
            "request_uid": "8c5b7f0e-0c0f-4c49-8e67-0f5d3a1b2c3d",
            "instance_uid": UID,
            "slug": slug_of(UID),
            "namespace": "acme",
            "not_before": ISSUED,
            "not_after": None,
        }
        | fields
    )


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - made aware below
    st.none() | st.timedeltas(timedelta(0), timedelta(days=90_000)),
)
def test_a_verifier_survives_its_secret(start: datetime, life: timedelta | None) -> None:
    issued = start.replace(microsecond=0, tzinfo=UTC)
    ends = None if life is None else (issued + life).replace(microsecond=0)
    verifier = a_verifier(not_before=issued, not_after=ends)

    assert Verifier.from_secret(verifier.to_secret("tokens")) == verifier


def test_a_verifiers_secret_cannot_be_changed_and_is_found_by_uid() -> None:
    secret = a_verifier(Token("abcdefghij23", "A" * 43)).to_secret("tokens")

    assert (secret["immutable"], secret["type"]) == (True, SECRET_TYPE)
    assert secret["metadata"]["name"] == "v-abcdefghij23"
    assert secret["metadata"]["namespace"] == "tokens"
    assert secret["metadata"]["labels"][labels.INSTANCE_UID] == UID
    assert labels.REQUEST_UID in secret["metadata"]["labels"]


def test_a_verifier_holds_nothing_of_the_token_but_its_id() -> None:
    token = Token.mint()

    stored = repr(a_verifier(token).to_secret("tokens"))

    assert token.secret not in stored
    assert b64encode(token.secret.encode()).decode() not in stored


def test_a_hash_is_not_printed() -> None:
    verifier = a_verifier()

    assert verifier.hash not in repr(verifier)
    assert repr(Digest.decode(verifier.hash)) == "Digest()"


@given(st.binary(min_size=1, max_size=60))
def test_the_decoded_digest_agrees_with_passlib(secret: bytes) -> None:
    digest = Digest.decode(ldap_salted_sha256.using(salt_size=16).hash(secret))

    assert digest.matches(secret)
    assert not digest.matches(secret + b"x")
    assert not digest.matches(secret[:-1])


def test_the_same_secret_has_another_hash_each_time() -> None:
    assert PROFILE.hash("secret") != PROFILE.hash("secret")


def test_the_profile_knows_its_own_hashes_and_no_others() -> None:
    assert PROFILE.identify(PROFILE.hash("secret")) == "ldap_salted_sha256"
    assert PROFILE.identify(ldap_sha1.hash("secret")) is None


def changed(**data: str | None) -> dict[str, Any]:
    """Return a verifier's Secret with fields changed or, with ``None``, removed."""
    secret = a_verifier().to_secret("tokens")
    for name, value in data.items():
        key = name.replace("_", "-")
        if value is None:
            del secret["data"][key]
        else:
            secret["data"][key] = b64encode(value.encode()).decode()
    return secret


@pytest.mark.parametrize(
    "data",
    [
        *({field: None} for field in ("key_id", "hash", "request_uid", "instance_uid")),
        *({field: None} for field in ("slug", "namespace", "not_before")),
        {"key_id": "bbbbbbbbbbbb"},
        {"instance_uid": "another"},
        {"slug": "aaaaaaaaaaaaaaaa"},
        {"hash": "plain"},
        {"hash": ldap_sha1.hash("secret")},
        {"hash": "{SSHA256}%%%"},
        {"hash": "{SSHA256}" + b64encode(b"short").decode()},
        {"hash": ""},
        {"not_before": "yesterday"},
        {"not_after": "2026-13-01T00:00:00Z"},
    ],
    ids=str,
)
def test_a_damaged_verifier_is_refused(data: dict[str, str | None]) -> None:
    with pytest.raises(MalformedVerifierError):
        Verifier.from_secret(changed(**data))


def test_a_secret_of_another_type_is_no_verifier() -> None:
    with pytest.raises(MalformedVerifierError, match="type"):
        Verifier.from_secret(a_verifier().to_secret("tokens") | {"type": "Opaque"})


@given(
    st.dictionaries(
        st.sampled_from(["key-id", "hash", "request-uid", "slug", "not-before", "not-after"]),
        st.binary(max_size=40),
    )
)
def test_any_content_is_refused_with_our_own_error(content: dict[str, bytes]) -> None:
    secret = a_verifier().to_secret("tokens")
    secret["data"] = {key: b64encode(value).decode() for key, value in content.items()}

    with pytest.raises(MalformedVerifierError):
        Verifier.from_secret(secret)


@pytest.mark.parametrize("data", [None, {}])
def test_a_secret_without_data_is_refused(data: dict[str, str] | None) -> None:
    with pytest.raises(MalformedVerifierError):
        Verifier.from_secret(a_verifier().to_secret("tokens") | {"data": data})


def test_a_refusal_never_repeats_the_hash() -> None:
    digest = PROFILE.hash("secret")[:-4]

    with pytest.raises(MalformedVerifierError) as raised:
        Verifier.from_secret(changed(hash=digest))

    assert digest[9:20] not in f"{raised.value} {raised.value.__cause__}"
