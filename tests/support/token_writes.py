"""What a customer may write around a request for a key, drawn: values, and where they go.

A value is a text, or the name of something that is known only when it is written: a key, an id, a UID.
Each write is a value that prints as what somebody does, and is carried out on a :class:`Scene`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Protocol

from hypothesis import strategies as st

from privatellm import labels
from privatellm.kube import Manifest, kinds
from privatellm.kube.kinds import Kind
from privatellm.names import slug_of
from privatellm.tokens import Token
from privatellm.verifiers import SECRET_TYPE, Verifier, hash_profile
from token_objects import Tenant
from token_strategies import SPECS, statuses

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Known(Enum):
    """Texts that mean something to somebody."""

    CHOSEN = "a key that the customer made up"
    HELD = "the key that is in the Secret"
    FIRST = "the first key of the request"
    SPLICED = "the held key's id with a secret part that the customer made up"
    VICTIMS = "the key of somebody else"
    VICTIMS_SPLICED = "somebody else's key id with a secret part that the customer made up"
    CHOSEN_ID = "the id of the made-up key"
    VICTIMS_ID = "the id of somebody else's key"
    REQUEST = "the request's UID"
    INSTANCE = "the instance's UID"
    VICTIMS_REQUEST = "the UID of somebody else's request"
    VICTIMS_INSTANCE = "the UID of somebody else's instance"


Value = Known | str | None
"""What is written; ``None`` removes."""

KEYS = (
    Known.CHOSEN,
    Known.HELD,
    Known.FIRST,
    Known.SPLICED,
    Known.VICTIMS,
    Known.VICTIMS_SPLICED,
)
UIDS = (Known.REQUEST, Known.INSTANCE, Known.VICTIMS_REQUEST, Known.VICTIMS_INSTANCE)


@dataclass(frozen=True, slots=True)
class Victim:
    """Somebody else, in a namespace of their own.

    Attributes:
        tenant: Their namespace.
        request: UID of their request.
        instance: UID of their instance.
        key: Their key, which must open their instance and nothing else.
    """

    tenant: Tenant
    request: str
    instance: str
    key: str = field(repr=False)

    @property
    def slug(self) -> str:
        """The slug of their instance."""
        return slug_of(self.instance)


@dataclass(slots=True)
class Scene:
    """One request with an instance of its own, and what is known about both.

    Attributes:
        tenant: The customer's namespace.
        name: Of the instance and the request.
        victim: Somebody else.
        chosen: The key that the customer would like to have.
        request: UID of the request, the latest one.
        instance: UID of the instance, the latest one.
        issued: Every key that the operator was seen to issue, the oldest first.
        tried: Every text that the customer wrote in the place of a key.
        ended: The keys among the issued ones that the edge was seen to refuse.
    """

    tenant: Tenant
    name: str
    victim: Victim
    chosen: Token = field(default_factory=Token.mint)
    request: str = ""
    instance: str = ""
    issued: list[str] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)

    @property
    def secret(self) -> str:
        """Name of the request's Secret."""
        return f"{self.name}-token"

    @property
    def slug(self) -> str:
        """The slug of the instance."""
        return slug_of(self.instance)

    def text(self, value: Value) -> str | None:
        """Return what a value is at this moment."""
        if not isinstance(value, Known):
            return value
        held, victims = Token.parse(self.issued[-1]), Token.parse(self.victim.key)
        return {
            Known.CHOSEN: self.chosen.reveal(),
            Known.HELD: held.reveal(),
            Known.FIRST: self.issued[0],
            Known.SPLICED: Token(held.key_id, self.chosen.secret).reveal(),
            Known.VICTIMS: victims.reveal(),
            Known.VICTIMS_SPLICED: Token(victims.key_id, self.chosen.secret).reveal(),
            Known.CHOSEN_ID: self.chosen.key_id,
            Known.VICTIMS_ID: victims.key_id,
            Known.REQUEST: self.request,
            Known.INSTANCE: self.instance,
            Known.VICTIMS_REQUEST: self.victim.request,
            Known.VICTIMS_INSTANCE: self.victim.instance,
        }[value]

    def texts(self, values: Mapping[str, Value]) -> dict[str, str | None]:
        """Return what values are at this moment, by their names."""
        return {name: self.text(value) for name, value in values.items()}

    def place_of(self, kind: Kind) -> str:
        """Return the name of the Secret or of the request."""
        return self.secret if kind is kinds.SECRET else self.name

    async def patch(self, kind: Kind, body: dict[str, Any], subresource: str = "") -> None:
        """Change the Secret, the request or a subresource."""
        await self.tenant.client.patch(
            kind, self.place_of(kind), self.tenant.namespace, body, subresource=subresource
        )


@dataclass(frozen=True, slots=True)
class Data:
    """Write into the Secret."""

    data: Mapping[str, Value]

    async def on(self, scene: Scene) -> None:
        """Do it."""
        texts = scene.texts(self.data)
        scene.tried.update(text for text in texts.values() if text)
        await scene.tenant.write(texts, name=scene.secret)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Write labels or annotations."""

    kind: Kind
    place: str
    values: Mapping[str, Value]

    async def on(self, scene: Scene) -> None:
        """Do it."""
        await scene.patch(self.kind, {"metadata": {self.place: scene.texts(self.values)}})


@dataclass(frozen=True, slots=True)
class Owners:
    """Say who owns the Secret or the request."""

    kind: Kind
    owners: tuple[Known, ...]

    async def on(self, scene: Scene) -> None:
        """Do it."""
        owners = [_owner(scene, uid) for uid in self.owners]
        await scene.patch(self.kind, {"metadata": {"ownerReferences": owners}})


@dataclass(frozen=True, slots=True)
class Finalizers:
    """Say who has to agree to the end of the Secret or the request."""

    kind: Kind
    names: tuple[str, ...]

    async def on(self, scene: Scene) -> None:
        """Do it."""
        await scene.patch(self.kind, {"metadata": {"finalizers": list(self.names)}})


@dataclass(frozen=True, slots=True)
class Status:
    """Write the request's status."""

    status: Mapping[str, Any]

    async def on(self, scene: Scene) -> None:
        """Do it."""
        texts = {k: scene.text(v) if isinstance(v, Known) else v for k, v in self.status.items()}
        await scene.patch(kinds.API_TOKEN_REQUEST, {"status": texts}, "status")


@dataclass(frozen=True, slots=True)
class Spec:
    """Change what is asked for."""

    spec: Mapping[str, Any]

    async def on(self, scene: Scene) -> None:
        """Do it."""
        await scene.patch(kinds.API_TOKEN_REQUEST, {"spec": dict(self.spec)})


@dataclass(frozen=True, slots=True)
class SecretOfOnesOwn:
    """Put another Secret into the place of the request's."""

    key: Value
    kept_as: str
    owner: Known | None
    immutable: bool

    async def on(self, scene: Scene) -> None:
        """Do it."""
        text = scene.text(self.key) or ""
        scene.tried.add(text)
        await scene.tenant.client.delete(kinds.SECRET, scene.secret, scene.tenant.namespace)
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": scene.secret,
                "namespace": scene.tenant.namespace,
                "labels": {labels.REQUEST_UID: scene.request},
                "ownerReferences": [_owner(scene, self.owner)] if self.owner else [],
            },
            "type": self.kept_as,
            "immutable": self.immutable,
            "stringData": {"OPENAI_API_KEY": text},
        }
        await scene.tenant.client.create(kinds.SECRET, manifest)


@dataclass(frozen=True, slots=True)
class VerifierOfOnesOwn:
    """Put a verifier of the made-up key into the customer's namespace."""

    request: Known
    instance: Known

    async def on(self, scene: Scene) -> None:
        """Do it."""
        instance = scene.text(self.instance) or ""
        verifier = Verifier(
            key_id=scene.chosen.key_id,
            hash=hash_profile().hash(scene.chosen.secret),
            request_uid=scene.text(self.request) or "",
            instance_uid=instance,
            slug=slug_of(instance),
            namespace=scene.tenant.namespace,
            not_before=LONG_AGO,
        )
        scene.tried.add(scene.chosen.reveal())
        forged = verifier.to_secret(scene.tenant.namespace)
        await scene.tenant.client.create(kinds.SECRET, forged)


class Turn(Enum):
    """What happens without a value."""

    NOTHING = "time passes"
    NO_SECRET = "the Secret is deleted"
    ANOTHER_INSTANCE = "the instance is created anew"
    ANOTHER_REQUEST = "the request is created anew"

    async def on(self, scene: Scene) -> None:
        """Do it."""
        tenant, name = scene.tenant, scene.name
        match self:
            case Turn.NO_SECRET:
                await tenant.client.delete(kinds.SECRET, scene.secret, tenant.namespace)
            case Turn.ANOTHER_INSTANCE:
                await tenant.cancel(name=name)
                scene.instance = (await tenant.order(name=name))["metadata"]["uid"]
            case Turn.ANOTHER_REQUEST:
                await tenant.withdraw(name=name)
                asked = await tenant.ask(name=name, instanceName=name)
                scene.request = asked["metadata"]["uid"]
            case Turn.NOTHING:
                pass


class Write(Protocol):
    """One thing that a customer does."""

    async def on(self, scene: Scene) -> None:
        """Do it."""


KINDS = st.sampled_from([kinds.SECRET, kinds.API_TOKEN_REQUEST])
NAMES = st.sampled_from(["OPENAI_API_KEY", "OPENAI_API_URL", "OPENAI_BASE_URL"]) | st.from_regex(
    r"[-._a-zA-Z0-9]{1,12}", fullmatch=True
)
OUR_LABELS = st.sampled_from(
    [labels.MANAGED_BY, labels.REQUEST_UID, labels.INSTANCE_UID, labels.API_TOKEN_REQUEST]
)
FINALIZERS = st.sampled_from([labels.REQUEST_FINALIZER, labels.INSTANCE_FINALIZER, "a.example/b"])
WELL_FORMED = st.builds(
    Token,
    st.from_regex(r"[a-z2-7]{12}", fullmatch=True),
    st.from_regex(r"[0-9A-Za-z]{43}", fullmatch=True),
).map(Token.reveal)
KNOWN_KEYS = st.sampled_from(KEYS)
VALUES = KNOWN_KEYS | KNOWN_KEYS | WELL_FORMED | st.none() | st.text(max_size=60)
IN_ITS_PLACE = st.builds(Data, st.fixed_dictionaries({"OPENAI_API_KEY": VALUES}))
MARKS = st.sampled_from([*UIDS, labels.MANAGED_BY_OPERATOR, None]) | st.text(
    alphabet="abcXYZ019-", max_size=10
)

WRITES: st.SearchStrategy[Write] = st.one_of(
    st.builds(Data, st.dictionaries(NAMES, VALUES, min_size=1, max_size=3)),
    IN_ITS_PLACE,
    IN_ITS_PLACE,
    IN_ITS_PLACE,
    st.builds(
        Metadata,
        KINDS,
        st.sampled_from(["labels", "annotations"]),
        st.dictionaries(OUR_LABELS | NAMES, MARKS, min_size=1, max_size=3),
    ),
    st.builds(Owners, KINDS, st.lists(st.sampled_from(UIDS), max_size=2, unique=True).map(tuple)),
    st.builds(Finalizers, KINDS, st.lists(FINALIZERS, max_size=2, unique=True).map(tuple)),
    st.builds(Status, statuses([Known.CHOSEN_ID, Known.VICTIMS_ID])),
    st.builds(Spec, SPECS),
    st.builds(
        SecretOfOnesOwn,
        VALUES,
        st.sampled_from(["Opaque", SECRET_TYPE]),
        st.none() | st.sampled_from(UIDS),
        st.booleans(),
    ),
    st.builds(VerifierOfOnesOwn, st.sampled_from(UIDS), st.sampled_from(UIDS)),
    st.sampled_from(Turn),
)
"""One write. Keys in the place of the key are the likeliest, because there the operator looks first."""


def _owner(scene: Scene, uid: Known) -> Manifest:
    """Return the owner of that UID, under the name that fits the customer's own."""
    is_request = uid in (Known.REQUEST, Known.VICTIMS_REQUEST)
    kind = kinds.API_TOKEN_REQUEST if is_request else kinds.LLM_INSTANCE
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": scene.name,
        "uid": scene.text(uid),
        "controller": False,
    }
