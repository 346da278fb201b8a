"""A small world for tests of the authserver: keys, an index that knows them, and questions of Traefik's."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from privatellm.backend_keys import PlatformKey
from privatellm.names import slug_of
from privatellm.tokens import Token
from privatellm.verifiers import Verifier, hash_profile
from privatellm_authserver.headers import FactReader
from privatellm_authserver.index import EntryReader, TokenIndex

PUBLIC_HOST = "llm.example.com"
NAMESPACE = "private-llm-tokens"
PLATFORM_KEY = PlatformKey.of("p" * 43)
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
UPTIME = 1000.0
MAX_STALENESS = 60.0
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
CHAT = "/v1/chat/completions"

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Key:
    """A customer's key and the Secret that verifies it."""

    token: Token
    uid: str
    secret: dict[str, Any]

    @property
    def key_id(self) -> bytes:
        """The key id as the index uses it."""
        return self.token.key_id.encode()

    @property
    def slug(self) -> str:
        """The slug of the instance it opens."""
        return slug_of(self.uid)

    @property
    def verifier_name(self) -> str:
        """The name of the Secret."""
        return str(self.secret["metadata"]["name"])


def make_key(
    uid: str = "uid-1",
    *,
    not_before: datetime = LONG_AGO,
    not_after: datetime | None = None,
    namespace: str = NAMESPACE,
) -> Key:
    """Mint a key for an instance."""
    token = Token.mint()
    verifier = Verifier(
        key_id=token.key_id,
        hash=hash_profile().hash(token.secret),
        request_uid=f"request-{token.key_id}",
        instance_uid=uid,
        slug=slug_of(uid),
        namespace="acme",
        not_before=not_before,
        not_after=not_after,
    )
    return Key(token, uid, verifier.to_secret(namespace))


@dataclass
class World:
    """An index that is fresh at :data:`UPTIME`, and what reads requests for it."""

    index: TokenIndex = field(
        default_factory=lambda: TokenIndex(EntryReader(PLATFORM_KEY), MAX_STALENESS)
    )
    reader: FactReader = field(default_factory=lambda: FactReader(PUBLIC_HOST))

    def __post_init__(self) -> None:
        self.index.swap(self.index.new_snapshot(), UPTIME)
        self.index.confirm(UPTIME)

    def add(self, key: Key) -> Key:
        """Let the index know a key."""
        assert self.index.put(key.secret, UPTIME) is None
        return key

    def key(self, uid: str = "uid-1", **options: Any) -> Key:
        """Mint a key that the index knows."""
        return self.add(make_key(uid, **options))


def question(
    authorization: str | None,
    uri: str,
    method: str = "POST",
    host: str = PUBLIC_HOST,
    extra: Headers | None = None,
) -> Headers:
    """Return the headers of Traefik's question, as an ASGI server hands them over."""
    headers = {
        "host": "authserver:8090",
        "user-agent": "OpenAI/Python 2.8.0",
        "accept-encoding": "gzip",
        "x-forwarded-for": "192.0.2.7",
        "x-forwarded-host": host,
        "x-forwarded-method": method,
        "x-forwarded-port": "443",
        "x-forwarded-proto": "https",
        "x-forwarded-server": "edge-0",
        "x-forwarded-uri": uri,
        "x-real-ip": "192.0.2.7",
    }
    if authorization is not None:
        headers["authorization"] = authorization
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return encoded + (extra or [])


def question_for(key: Key, path: str = CHAT, method: str = "POST", **options: Any) -> Headers:
    """Return the question for a request with a key to the instance that it opens."""
    uri = f"/llm/{key.slug}{path}"
    return question(f"Bearer {key.token.reveal()}", uri, method, **options)
