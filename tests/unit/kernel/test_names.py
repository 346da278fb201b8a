"""Derived names: legal everywhere they are used, stable, and never shared by two objects."""

import base64
import hashlib
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from privatellm import names

DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
"""RFC 1035, which Services demand: a letter first, 63 characters at most."""

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""RFC 1123, which names of other objects follow."""

LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

SEGMENTS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,70}[a-z0-9])?", fullmatch=True)
OBJECT_NAMES = (
    st.lists(SEGMENTS, min_size=1, max_size=4).map(".".join).filter(lambda name: len(name) <= 253)
)
UIDS = st.uuids().map(str)

LONG = "x" * 253
LOOKS_SHORTENED = "a-habcdefghijkl"


def test_a_slug_is_the_digest_of_the_uid() -> None:
    """A vector of ``printf UID | sha256sum``, in base32, lower case, the first sixteen characters."""
    uid = "1d0c8a52-55f5-4b61-93b2-7b1f3a0a9e11"
    digest = hashlib.sha256(uid.encode()).digest()

    assert names.slug_of(uid) == base64.b32encode(digest).decode().lower()[:16]


@given(UIDS)
def test_a_slug_has_its_form(uid: str) -> None:
    assert re.fullmatch(names.SLUG_PATTERN, names.slug_of(uid))


@given(UIDS, UIDS)
def test_two_uids_have_two_slugs(one: str, other: str) -> None:
    assume(one != other)

    assert names.slug_of(one) != names.slug_of(other)


def test_an_endpoint_is_scheme_host_and_path() -> None:
    assert names.endpoint_of("https", "h:8443", "s" * 16) == "https://h:8443/llm/" + "s" * 16


@given(UIDS)
def test_a_port_name_is_legal(uid: str) -> None:
    """An IANA service name: fifteen characters, a letter, no double dash."""
    name = names.service_port_name(names.slug_of(uid))

    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= 15


@given(OBJECT_NAMES)
@example(LONG)
@example("0")
@example("7.days")
@example("x" * 57)
@example("x" * 58)
@example(LOOKS_SHORTENED)
def test_childrens_names_are_dns_labels(instance: str) -> None:
    assert DNS_LABEL.fullmatch(names.child_name(instance))
    assert SUBDOMAIN.fullmatch(names.backend_key_name(instance))


@given(OBJECT_NAMES)
@example(LONG)
@example("x" * 247)
@example("x" * 248)
def test_a_token_secrets_name_is_an_object_name(request: str) -> None:
    name = names.token_secret_name(request)

    assert SUBDOMAIN.fullmatch(name)
    assert len(name) <= 253


@given(OBJECT_NAMES)
@example(LONG)
@example("x" * 63)
@example("x" * 64)
@example("1." * 40 + "1")
def test_a_label_value_is_one(name: str) -> None:
    assert LABEL_VALUE.fullmatch(names.label_value(name))


@pytest.mark.parametrize("name", ["chat", "my-llm", "a", "x" * 57])
def test_a_name_that_fits_is_kept_readable(name: str) -> None:
    assert names.child_name(name) == f"{name}-llama"
    assert names.backend_key_name(name) == f"{name}-llama-key"
    assert names.token_secret_name(name) == f"{name}-token"
    assert names.label_value(name) == name


def test_a_shortened_name_still_starts_as_the_long_one() -> None:
    assert names.child_name("customer-" + LONG[:100]).startswith("customer-x")


DERIVATIONS = {
    "child": (names.child_name, "-llama"),
    "token Secret": (names.token_secret_name, "-token"),
    "label value": (names.label_value, ""),
}


@pytest.mark.parametrize(("derive", "suffix"), DERIVATIONS.values(), ids=DERIVATIONS)
@given(one=OBJECT_NAMES, other=OBJECT_NAMES)
@example(one="a.b", other="a-b")
@example(one="1a", other="x1a")
@example(one="x" * 100, other="x" * 101)
@example(one="x" * 252, other="x" * 253)
@example(one="a-b", other="a--b")
def test_two_names_are_never_derived_to_one(
    derive: object, suffix: str, one: str, other: str
) -> None:
    assert callable(derive)
    assume(one != other)

    assert derive(one) != derive(other)


@pytest.mark.parametrize(("derive", "suffix"), DERIVATIONS.values(), ids=DERIVATIONS)
@given(name=OBJECT_NAMES)
@example(name=LONG)
@example(name="a.b")
@example(name=LOOKS_SHORTENED)
def test_nobody_can_choose_the_name_that_another_one_was_shortened_to(
    derive: object, suffix: str, name: str
) -> None:
    """Knowing how a victim's name is shortened does not help to take the result."""
    assert callable(derive)
    imitation = derive(name).removesuffix(suffix)

    assert imitation == name or derive(imitation) != derive(name)


@given(OBJECT_NAMES, OBJECT_NAMES)
def test_a_backend_key_and_a_token_secret_never_meet(instance: str, request: str) -> None:
    """Both are Secrets in one namespace."""
    assert names.backend_key_name(instance) != names.token_secret_name(request)


def test_a_verifier_is_named_by_its_key_id() -> None:
    assert names.verifier_name("abcdefghij23") == "v-abcdefghij23"
