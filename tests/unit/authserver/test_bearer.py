"""The quick reader of tokens agrees with the kernel's definition of one."""

from hypothesis import given
from hypothesis import strategies as st

from privatellm.errors import MalformedTokenError
from privatellm.tokens import Token
from privatellm_authserver.bearer import NO_CREDENTIAL, checksum, read_bearer

tokens = st.builds(
    Token,
    st.from_regex(r"[a-z2-7]{12}", fullmatch=True),
    st.from_regex(r"[0-9A-Za-z]{43}", fullmatch=True),
)


@given(tokens)
def test_a_token_is_read_as_the_kernel_writes_it(token: Token) -> None:
    """Key id and secret come back."""
    assert read_bearer(f"Bearer {token.reveal()}".encode()) == (
        token.key_id.encode(),
        token.secret.encode(),
    )


@given(tokens, st.integers(0, 66), st.sampled_from("aZ09_-"))
def test_what_the_kernel_refuses_is_no_credential(token: Token, position: int, other: str) -> None:
    """One changed character breaks form or checksum for both readers."""
    text = token.reveal()
    changed = text[:position] + other + text[position + 1 :]
    try:
        parsed = Token.parse(changed)
        expected = (parsed.key_id.encode(), parsed.secret.encode())
    except MalformedTokenError:
        expected = NO_CREDENTIAL

    assert read_bearer(f"bearer {changed}".encode()) == expected


@given(st.binary(max_size=100))
def test_anything_else_is_no_credential(value: bytes) -> None:
    """No input raises, and no noise is taken for a token."""
    assert read_bearer(value) == NO_CREDENTIAL


@given(tokens)
def test_the_checksum_is_the_kernels(token: Token) -> None:
    """Pairs of digits from a table give the same text as digit by digit."""
    assert checksum(token.reveal()[:-6].encode()) == token.checksum.encode()
