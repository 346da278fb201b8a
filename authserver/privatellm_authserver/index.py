"""What the edge knows about keys: key id to verifier, in memory, one look-up per request.

The feed is the only writer, in the same thread as the readers. A relist builds a whole snapshot beside the
index and swaps it in with one assignment, so a reader sees the old world or the new one. A key whose
verifier vanished stays for a while as *revoked*: its holder is told so instead of "unknown key". It is
never allowed again while it is remembered, even if a verifier of that name came back, and the memory of it
is bounded in time and number. Nothing survives a restart.

An entry holds what a request needs, decoded once, and little else: with many keys nearly every look-up
finds its entry outside of the processor's caches, and what a request then pays for is how many separate
pieces of memory it touches. So an entry is itself the decision that it stands for, and what keys of one
instance have in common is there once.
"""

import hmac
import math
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final
from weakref import WeakValueDictionary

from privatellm.backend_keys import PlatformKey
from privatellm.errors import MalformedVerifierError
from privatellm.names import path_of, verifier_name
from privatellm.verifiers import DIGEST_BYTES, SALT_BYTES, Digest, Verifier

NOT_BEFORE_TOLERANCE_SECONDS: Final = 60.0
"""How far our clock may lag behind the API server's before a fresh key is refused."""

REMEMBER_REVOKED_SECONDS: Final = 3600.0
"""How long the holder of a revoked key is told that it was revoked."""

REMEMBER_REVOKED_KEYS: Final = 10_000
"""How many revoked keys are remembered at most; the oldest are forgotten first."""

NAME_PREFIX: Final = verifier_name("")


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Instance:
    """What lies behind a key; shared by all keys of an instance.

    Attributes:
        uid: UID of the LLMInstance.
        slug: Its slug.
        path: What the path of a request to it begins with.
        namespace: The tenant's namespace.
        authorization: What replaces the tenant's token: the instance's backend key, as a header's value.
    """

    uid: str
    slug: bytes
    path: bytes
    namespace: str
    authorization: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The decision to let a request in.

    Attributes:
        key_id: The key that opens the door.
        instance: What lies behind it.
    """

    key_id: bytes
    instance: Instance


@dataclass(frozen=True, slots=True)
class Entry(Allowed):
    """One key, and the decision about a request with it that nothing speaks against.

    Attributes:
        digest: The decoded hash of its secret.
        salt: What is hashed with the secret.
        valid_from: Unix time from which it is valid, tolerance included.
        not_after: Unix time from which it is expired; infinity for never.
        revoked: Whether its verifier is gone.
    """

    digest: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    valid_from: float
    not_after: float
    revoked: bool = False

    def fits(self, secret: bytes) -> bool:
        """Say in constant time whether ``secret`` is the key's; the judgement of :meth:`Digest.matches`."""
        return hmac.compare_digest(sha256(secret + self.salt).digest(), self.digest)


class EntryReader:
    """Turns verifier Secrets into entries; keys of one instance share what they have in common."""

    def __init__(self, platform_key: PlatformKey) -> None:
        self._platform_key = platform_key
        self._instances: WeakValueDictionary[tuple[str, str], Instance] = WeakValueDictionary()

    def read(self, secret: Mapping[str, Any]) -> Entry:
        """Return the entry of a verifier.

        Raises:
            MalformedVerifierError: when the Secret is not a verifier that the edge may trust.
        """
        verifier = Verifier.from_secret(secret)
        not_after, digest = verifier.not_after, Digest.decode(verifier.hash)
        return Entry(
            key_id=verifier.key_id.encode(),
            instance=self._instance_of(verifier),
            digest=digest.value,
            salt=digest.salt,
            valid_from=verifier.not_before.timestamp() - NOT_BEFORE_TOLERANCE_SECONDS,
            not_after=math.inf if not_after is None else not_after.timestamp(),
        )

    def _instance_of(self, verifier: Verifier) -> Instance:
        key = (verifier.instance_uid, verifier.namespace)
        instance = self._instances.get(key)
        if instance is None:
            backend_key = self._platform_key.backend_key(verifier.instance_uid)
            instance = self._instances[key] = Instance(
                uid=verifier.instance_uid,
                slug=verifier.slug.encode(),
                path=path_of(verifier.slug).encode(),
                namespace=verifier.namespace,
                authorization=b"Bearer " + backend_key.encode(),
            )
        return instance


class Snapshot:
    """All verifiers of one moment, while they are being read.

    Attributes:
        entries: Key id to entry.
        rejected: Names of Secrets that are not verifiers we may trust.
    """

    def __init__(self, reader: EntryReader) -> None:
        self._reader = reader
        self.entries: dict[bytes, Entry] = {}
        self.rejected: set[str] = set()

    def add(self, secret: Mapping[str, Any]) -> MalformedVerifierError | None:
        """Take a Secret in; return why not when it is no verifier that the edge may trust."""
        try:
            entry = self._reader.read(secret)
        except MalformedVerifierError as error:
            self.rejected.add(secret["metadata"]["name"])
            return error
        self.entries[entry.key_id] = entry
        return None


class TokenIndex:
    """The verifiers we know, and how long we may trust that knowledge."""

    def __init__(self, reader: EntryReader, max_staleness: float) -> None:
        """Make an empty index that is not fresh.

        Args:
            reader: What turns Secrets into entries.
            max_staleness: Seconds after a confirmation during which the index may be used.
        """
        self._reader = reader
        self._max_staleness = max_staleness
        self._world = Snapshot(reader)
        self._revoked: deque[tuple[float, bytes]] = deque()
        self._nobody = _nobody()
        self.confirmed_at = -math.inf
        """Uptime at which the index was last known to equal the world; minus infinity: never."""

    def find(self, key_id: bytes) -> Entry:
        """Return the entry of a key; one that no secret fits when the key is unknown."""
        return self._world.entries.get(key_id, self._nobody)

    def is_fresh(self, uptime: float) -> bool:
        """Say whether the index may be trusted at this uptime."""
        return uptime - self.confirmed_at <= self._max_staleness

    def confirm(self, uptime: float) -> None:
        """Note that at this uptime the index was equal to the world."""
        self.confirmed_at = max(self.confirmed_at, uptime)

    def new_snapshot(self) -> Snapshot:
        """Return an empty snapshot for a relist to fill."""
        return Snapshot(self._reader)

    def swap(self, snapshot: Snapshot, uptime: float) -> None:
        """Replace the whole world; keys that are gone from it count as revoked now."""
        fresh = snapshot.entries
        for key_id, entry in self._world.entries.items():
            if entry.revoked:
                fresh[key_id] = entry
            elif key_id not in fresh:
                fresh[key_id] = self._revoke(key_id, entry, uptime)
        self._world = snapshot
        self.forget_revoked(uptime)

    def put(self, secret: Mapping[str, Any], uptime: float) -> MalformedVerifierError | None:
        """Take one new or changed Secret in; return why not when we may not trust it."""
        one = Snapshot(self._reader)
        name = secret["metadata"]["name"]
        refusal = one.add(secret)
        if refusal is not None:
            self.remove(name, uptime)
            self._world.rejected.add(name)
            return refusal
        for key_id, entry in one.entries.items():
            if not self.find(key_id).revoked:
                self._world.entries[key_id] = entry
        self._world.rejected.discard(name)
        return None

    def remove(self, name: str, uptime: float) -> None:
        """Revoke the key whose verifier had this name."""
        self._world.rejected.discard(name)
        key_id = name.removeprefix(NAME_PREFIX).encode()
        entry = self._world.entries.get(key_id)
        if entry is not None and not entry.revoked:
            self._world.entries[key_id] = self._revoke(key_id, entry, uptime)
        self.forget_revoked(uptime)

    def forget_revoked(self, uptime: float) -> None:
        """Forget keys that were revoked long ago, and the oldest when there are too many."""
        deadline = uptime - REMEMBER_REVOKED_SECONDS
        graves = self._revoked
        while graves and (graves[0][0] < deadline or len(graves) > REMEMBER_REVOKED_KEYS):
            del self._world.entries[graves.popleft()[1]]

    def revoked_since(self, uptime: float) -> dict[bytes, float]:
        """Return the keys that were revoked after an uptime, with the uptime of each."""
        found: dict[bytes, float] = {}
        for revoked_at, key_id in reversed(self._revoked):
            if revoked_at <= uptime:
                break
            found[key_id] = revoked_at
        return found

    @property
    def tokens(self) -> int:
        """How many keys are known and not revoked."""
        return len(self._world.entries) - len(self._revoked)

    @property
    def revoked(self) -> int:
        """How many revoked keys are remembered."""
        return len(self._revoked)

    @property
    def rejected(self) -> int:
        """How many Secrets of the token namespace are not verifiers we may trust."""
        return len(self._world.rejected)

    def _revoke(self, key_id: bytes, entry: Entry, uptime: float) -> Entry:
        self._revoked.append((uptime, key_id))
        return replace(entry, revoked=True)


def _nobody() -> Entry:
    """Return an entry that costs as much as any other, that no secret fits and that is never valid."""
    return Entry(
        key_id=b"",
        instance=Instance(uid="", slug=b"", path=b"", namespace="", authorization=b""),
        digest=secrets.token_bytes(DIGEST_BYTES),
        salt=secrets.token_bytes(SALT_BYTES),
        valid_from=math.inf,
        not_after=math.inf,
    )
