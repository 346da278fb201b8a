"""The audit of a workspace and the service cluster below it: is each side what the other one says?

Pure, as :mod:`chaos_audit` is, which audits the service cluster itself: it looks at what somebody gathered
(:mod:`chaos_sync`) and returns what is wrong. What must be there follows from what the customer was
promised in the workspace, never from what the sync agent believes. A test plants each trouble.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from chaos_audit import Answer, Finding, name_of
from privatellm.kube import Manifest, kinds
from privatellm.names import token_secret_name
from privatellm_sync_agent.naming.names import Identity
from privatellm_sync_agent.objects.ownership import COPY, UID, remote_identity
from privatellm_sync_agent.published.defaults import TOKEN_KEYS

Order = tuple[str, str]
"""Kind and ``namespace/name`` of an object in the workspace."""


class Trouble(StrEnum):
    """What an audit of both sides can find."""

    ORDER_LOST = "an order is gone from the workspace"
    CHANGE_LOST = "a change of an order is gone"
    END_LOST = "an order that was ended is there"
    STUCK = "an object is being deleted and does not go"
    COPY_MISSING = "an order has no copy"
    COPY_TWICE = "an order has more than one copy"
    COPY_DIFFERS = "a copy's spec is another one"
    COPY_OF_ANOTHER = "a copy belongs to an object that was there before"
    COPY_ORPHANED = "a copy has no order"
    STATUS_DIFFERS = "an order does not say what its copy says"
    SECRET_MISSING = "a key's Secret is not in the workspace"
    SECRET_DIFFERS = "a key's Secret holds something else than its original"
    SECRET_ORPHANED = "a copy of a Secret has no order"
    LIVE_REFUSED = "a live key is refused"
    DEAD_ALLOWED = "a dead key is let in"


@dataclass(frozen=True)
class Sides:
    """Both sides of the sync, as they were at one moment.

    Attributes:
        orders: Every object of our kinds in the workspace.
        copies: Every object of our kinds in the service cluster that an agent made.
        secrets: Every Secret of the workspace.
        originals: Every Secret of the namespaces in which copies are.
        promised: What must be there, with the fields of the spec that were acknowledged.
        ended: What was there and whose deletion was acknowledged.
        answers: What the edge said of every key that the customer has or had.
    """

    orders: tuple[Manifest, ...] = ()
    copies: tuple[Manifest, ...] = ()
    secrets: tuple[Manifest, ...] = field(default=(), repr=False)
    originals: tuple[Manifest, ...] = field(default=(), repr=False)
    promised: Mapping[Order, Mapping[str, Any]] = field(default_factory=dict)
    ended: frozenset[Order] = frozenset()
    answers: tuple[Answer, ...] = ()

    @cached_property
    def by_order(self) -> Mapping[Order, Manifest]:
        """Every object of the workspace."""
        return {order_of(each): each for each in self.orders}

    @cached_property
    def copies_of(self) -> Mapping[tuple[str, Identity | None], tuple[Manifest, ...]]:
        """The copies by the kind and the identity of what they say they mirror."""
        found: defaultdict[tuple[str, Identity | None], tuple[Manifest, ...]] = defaultdict(tuple)
        for copy in self.copies:
            found[copy["kind"], remote_identity(copy)] += (copy,)
        return found

    @cached_property
    def pairs(self) -> tuple[tuple[Manifest, Manifest], ...]:
        """Every order that has exactly one copy, with it."""
        found = ((order, self.copies_of.get(key_of(order), ())) for order in self.orders)
        return tuple((order, copies[0]) for order, copies in found if len(copies) == 1)


def audit(sides: Sides) -> tuple[Finding, ...]:
    """Return everything that is wrong; nothing when all is well."""
    return tuple(finding for check in CHECKS for finding in check(sides))


def order_of(manifest: Manifest) -> Order:
    """Return how an object of the workspace is known."""
    return manifest["kind"], name_of(manifest)


def key_of(order: Manifest) -> tuple[str, Identity]:
    """Return what the copy of an order says that it mirrors."""
    return order["kind"], Identity.of(order)


def orders_are_kept(sides: Sides) -> Iterator[Finding]:
    """What kcp has acknowledged is there, as it was acknowledged; what was ended is not."""
    for order, wanted in sorted(sides.promised.items()):
        found = sides.by_order.get(order)
        if found is None:
            yield Finding(Trouble.ORDER_LOST, " ".join(order))
        elif lost := {
            k: found["spec"].get(k) for k, v in wanted.items() if found["spec"].get(k) != v
        }:
            yield Finding(Trouble.CHANGE_LOST, " ".join(order), str(lost))
    for order in sorted(sides.ended & sides.by_order.keys()):
        if "deletionTimestamp" not in sides.by_order[order]["metadata"]:
            yield Finding(Trouble.END_LOST, " ".join(order))


def nothing_is_stuck(sides: Sides) -> Iterator[Finding]:
    """Whoever wanted something deleted sees it go, on both sides."""
    for each in (*sides.orders, *sides.copies):
        if since := each["metadata"].get("deletionTimestamp"):
            yield Finding(Trouble.STUCK, " ".join(order_of(each)), since)


def each_order_has_one_copy(sides: Sides) -> Iterator[Finding]:
    """And no copy is there for nobody."""
    for order in sides.orders:
        copies = sides.copies_of.get(key_of(order), ())
        if not copies:
            yield Finding(Trouble.COPY_MISSING, " ".join(order_of(order)))
        elif len(copies) > 1:
            places = ", ".join(map(name_of, copies))
            yield Finding(Trouble.COPY_TWICE, " ".join(order_of(order)), places)
    known = {key_of(order) for order in sides.orders}
    for (kind, identity), copies in sides.copies_of.items():
        if (kind, identity) not in known:
            for copy in copies:
                yield Finding(Trouble.COPY_ORPHANED, f"{kind} {name_of(copy)}", str(identity))


def copies_are_true(sides: Sides) -> Iterator[Finding]:
    """The spec is the customer's below, the status the provider's above."""
    for order, copy in sides.pairs:
        subject = " ".join(order_of(order))
        if copy["spec"] != order["spec"]:
            yield Finding(Trouble.COPY_DIFFERS, subject, f"{copy['spec']} below {order['spec']}")
        if copy.get("status") != order.get("status"):
            detail = f"{order.get('status')} above {copy.get('status')}"
            yield Finding(Trouble.STATUS_DIFFERS, subject, detail)
        uid = (copy["metadata"].get("annotations") or {}).get(UID)
        if uid != order["metadata"]["uid"]:
            yield Finding(Trouble.COPY_OF_ANOTHER, subject, f"made for {uid}")


def secrets_are_true(sides: Sides) -> Iterator[Finding]:
    """Each key's Secret is in the workspace and holds what its original holds; no other copy is there."""
    above, below = _data_by_name(sides.secrets), _data_by_name(sides.originals)
    wanted = dict(_secret_places(sides))
    for place, original in wanted.items():
        if place not in above:
            yield Finding(Trouble.SECRET_MISSING, place)
        elif not _is_key(above[place], below.get(original, {})):
            yield Finding(Trouble.SECRET_DIFFERS, place, f"it has {sorted(above[place])}")
    for secret in sides.secrets:
        is_copy = COPY in (secret["metadata"].get("labels") or {})
        if is_copy and name_of(secret) not in wanted:
            yield Finding(Trouble.SECRET_ORPHANED, name_of(secret))


def keys_open_what_they_should(sides: Sides) -> Iterator[Finding]:
    """A key that is in the workspace opens its endpoint; one that was ended opens nothing."""
    for answer in sides.answers:
        if answer.should_open is not answer.opened:
            trouble = Trouble.LIVE_REFUSED if answer.should_open else Trouble.DEAD_ALLOWED
            yield Finding(trouble, answer.key, f"{answer.by} said {answer.said}")


CHECKS = (
    orders_are_kept,
    nothing_is_stuck,
    each_order_has_one_copy,
    copies_are_true,
    secrets_are_true,
    keys_open_what_they_should,
)


def _secret_places(sides: Sides) -> Iterator[tuple[str, str]]:
    """Yield where the Secret of each request must be, and where its original."""
    for order, copy in sides.pairs:
        if order["kind"] == kinds.API_TOKEN_REQUEST.name:
            name = token_secret_name(order["metadata"]["name"])
            above, below = order["metadata"]["namespace"], copy["metadata"]["namespace"]
            yield f"{above}/{name}", f"{below}/{name}"


def _data_by_name(secrets: tuple[Manifest, ...]) -> dict[str, dict[str, str]]:
    return {name_of(each): dict(each.get("data") or {}) for each in secrets}


def _is_key(above: Mapping[str, str], below: Mapping[str, str]) -> bool:
    """Say whether a customer's Secret has exactly the keys that are theirs, as the original has them."""
    return dict(above) == {key: below.get(key) for key in TOKEN_KEYS}
