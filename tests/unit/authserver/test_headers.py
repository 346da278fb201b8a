"""What is read from headers, and what the shortcut for common names must not change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth_world import PUBLIC_HOST, World, make_key, question_for
from privatellm.errors import InvalidInputError
from privatellm_authserver.headers import DECISIVE, KNOWN, OURS, FactReader, _is_alias, hosts_of


def test_no_known_name_is_an_alias() -> None:
    """The shortcut may take a name for harmless only if it is."""
    assert [name for name in KNOWN if _is_alias(name)] == []
    assert DECISIVE < OURS < KNOWN


@given(st.from_regex(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,24}", fullmatch=True))
def test_a_name_is_an_alias_if_and_only_if_a_careless_reader_takes_it_for_ours(name: bytes) -> None:
    """Careless means: case and punctuation are ignored."""
    folded = "".join(c if c.isalnum() else "-" for c in name.decode().lower()).encode()
    facts = FactReader(PUBLIC_HOST).read([(name, b"x")])

    assert facts.aliased is (folded in OURS and name not in OURS)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*sorted(OURS), b"accept", b"x-unknown", b"x_forwarded_uri"]),
            st.sampled_from([b"POST", b"/llm/abcdefghijklmnop/v1/models", b"llm.example.com", b""]),
        ),
        max_size=6,
    )
)
def test_the_shortcut_changes_no_outcome(headers: list[tuple[bytes, bytes]]) -> None:
    """A header that nobody knows leads around the shortcut and alters nothing else."""
    reader = FactReader(PUBLIC_HOST)

    assert reader.read(headers) == reader.read([*headers, (b"x-never-heard-of", b"x")])


def test_facts_do_not_show_the_secret() -> None:
    """A traceback or a log of the facts must not give a key away."""
    key = make_key()
    facts = World().reader.read(question_for(key))

    assert facts.secret.decode() == key.token.secret
    assert key.token.secret not in f"{facts!r} {facts}"


@pytest.mark.parametrize(
    ("public_host", "sent", "ours"),
    [
        ("llm.example.com", "llm.example.com", True),
        ("llm.example.com", "LLM.Example.Com", True),
        ("llm.example.com", "llm.example.com:443", True),
        ("llm.example.com", "llm.example.com:80", True),
        ("llm.example.com", "llm.example.com:8080", False),
        ("llm.example.com:443", "llm.example.com", True),
        ("llm.example.com:8443", "llm.example.com:8443", True),
        ("llm.example.com:8443", "llm.example.com", False),
        ("127.0.0.1:8080", "127.0.0.1:8080", True),
        ("127.0.0.1:8080", "localhost:8080", False),
        ("[::1]:8080", "[::1]:8080", True),
        ("[::1]", "[::1]:443", True),
        ("llm.example.com", "xllm.example.com", False),
        ("llm.example.com", "llm.example.com,llm.example.com", False),
        ("llm.example.com", "llm.example.com@evil", False),
    ],
)
def test_a_host_may_leave_out_or_name_the_default_port(
    public_host: str, sent: str, ours: bool
) -> None:
    """Traefik forwards the Host header as the client wrote it, port included."""
    facts = FactReader(public_host).read([(b"x-forwarded-host", sent.encode())])

    assert facts.host_is_ours is ours


@pytest.mark.parametrize(
    "public_host",
    ["", ":80", "https://x", "x/y", "x:y", "x:99999", "u@x", "x y", "::1", "x:", "x?y", "x#y"],
)
def test_a_public_host_must_be_a_host(public_host: str) -> None:
    """A wrong setting stops the start and says what was set."""
    with pytest.raises(InvalidInputError, match="public host"):
        hosts_of(public_host)
