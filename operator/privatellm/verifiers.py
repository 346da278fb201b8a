"""Verifiers: what the edge knows about a key instead of the key itself.

A verifier is an immutable Secret ``v-<key id>`` in the token namespace. It holds a one-way hash of the
token's secret and the facts a decision needs. A 256-bit random secret needs one-wayness, not
stretching (NIST SP 800-63B, look-up secrets of 112 bits or more); a slow hash would hand attackers a
lever on the edge's processors. passlib writes and reads the hash, so a later scheme can live beside this
one; the edge keeps the decoded salt and digest, because decoding text on every request costs more than
the hash. Nothing here mints a verifier from what a tenant can write.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from passlib.context import CryptContext

from privatellm import labels
from privatellm.errors import MalformedVerifierError
from privatellm.names import slug_of, verifier_name

SECRET_TYPE = "llm.privatellms.msp/token-verifier"  # noqa: S105 - the type of a Secret, not a secret
"""The Secret type that admission policies reserve for the operator."""

SCHEME = "ldap_salted_sha256"
"""Hash profile of 2026: SHA-256 over secret and salt, once."""

SALT_BYTES = 16
DIGEST_BYTES = 32
SCHEME_MARK = "{SSHA256}"
"""What a hash text of this scheme starts with (RFC 2307)."""


def hash_profile() -> CryptContext:
    """Return passlib's context for the configured scheme; ``needs_update`` tells what is outdated."""
    return CryptContext(schemes=[SCHEME], ldap_salted_sha256__salt_size=SALT_BYTES)


@dataclass(frozen=True, slots=True)
class Digest:
    """A decoded hash: the form in which the edge compares."""

    salt: bytes = field(repr=False)
    value: bytes = field(repr=False)

    @classmethod
    def decode(cls, text: str) -> "Digest":
        """Decode the hash text that passlib wrote.

        Raises:
            MalformedVerifierError: when it is of another scheme or damaged.
        """
        if not text.startswith(SCHEME_MARK):
            raise MalformedVerifierError(f"A verifier's hash must be of the scheme {SCHEME}.")
        try:
            raw = base64.b64decode(text.removeprefix(SCHEME_MARK), validate=True)
        except binascii.Error as error:
            raise MalformedVerifierError("A verifier's hash must be valid base64.") from error
        if len(raw) != DIGEST_BYTES + SALT_BYTES:
            raise MalformedVerifierError(
                f"A verifier's hash has {DIGEST_BYTES + SALT_BYTES} bytes; got {len(raw)}."
            )
        return cls(salt=raw[DIGEST_BYTES:], value=raw[:DIGEST_BYTES])

    def matches(self, secret: bytes) -> bool:
        """Say in constant time whether ``secret`` is the one that was hashed."""
        return hmac.compare_digest(sha256(secret + self.salt).digest(), self.value)


@dataclass(frozen=True, slots=True)
class Verifier:
    """One key as the edge sees it.

    Attributes:
        key_id: The public part of the key.
        hash: passlib's text of the hashed secret.
        request_uid: UID of the APITokenRequest the key was issued for.
        instance_uid: UID of the LLMInstance the key opens.
        slug: The slug of that UID.
        namespace: The tenant's namespace, for the audit line.
        not_before: When the key was issued.
        not_after: When it expires; ``None`` for never.
    """

    key_id: str
    hash: str = field(repr=False)
    request_uid: str
    instance_uid: str
    slug: str
    namespace: str
    not_before: datetime
    not_after: datetime | None = None

    def to_secret(self, token_namespace: str) -> dict[str, Any]:
        """Return the immutable Secret that carries this verifier."""
        fields = {
            "key-id": self.key_id,
            "hash": self.hash,
            "request-uid": self.request_uid,
            "instance-uid": self.instance_uid,
            "slug": self.slug,
            "namespace": self.namespace,
            "not-before": _text(self.not_before),
        }
        if self.not_after is not None:
            fields["not-after"] = _text(self.not_after)
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": verifier_name(self.key_id),
                "namespace": token_namespace,
                "labels": {
                    labels.PART_OF: labels.PART_OF_US,
                    labels.MANAGED_BY: labels.MANAGED_BY_OPERATOR,
                    labels.REQUEST_UID: self.request_uid,
                    labels.INSTANCE_UID: self.instance_uid,
                },
            },
            "type": SECRET_TYPE,
            "immutable": True,
            "data": {
                key: base64.b64encode(value.encode()).decode() for key, value in fields.items()
            },
        }

    @classmethod
    def from_secret(cls, secret: Mapping[str, Any]) -> "Verifier":
        """Read a verifier from a Secret and check what must agree in it.

        Raises:
            MalformedVerifierError: when a field is missing or damaged, when the name does not belong
                to the key id, or when the slug is not the slug of the instance's UID.
        """
        try:
            data = {k: base64.b64decode(v).decode() for k, v in (secret.get("data") or {}).items()}
            verifier = cls(
                key_id=data["key-id"],
                hash=data["hash"],
                request_uid=data["request-uid"],
                instance_uid=data["instance-uid"],
                slug=data["slug"],
                namespace=data["namespace"],
                not_before=_time(data["not-before"]),
                not_after=_time(data["not-after"]) if "not-after" in data else None,
            )
        except KeyError as error:
            raise MalformedVerifierError(f"A verifier must have the field {error}.") from error
        except ValueError as error:
            # The original text may hold a hash, so it is not repeated.
            raise MalformedVerifierError(
                "A verifier's fields must be valid text and times."
            ) from error
        verifier._check(str(secret.get("type")), str(secret["metadata"]["name"]))
        return verifier

    def _check(self, secret_type: str, name: str) -> None:
        if secret_type != SECRET_TYPE:
            raise MalformedVerifierError(f"A verifier is of type {SECRET_TYPE}; got {secret_type}.")
        if name != verifier_name(self.key_id):
            raise MalformedVerifierError(
                f"A verifier's name is {verifier_name(self.key_id)}; got {name}."
            )
        if self.slug != slug_of(self.instance_uid):
            raise MalformedVerifierError(
                "A verifier's slug must be the slug of its instance's UID."
            )
        Digest.decode(self.hash)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
