"""What to do with an answer: pure decisions about ranges, lengths and statuses (RFC 9110).

A partial file may be continued only if the bytes that follow belong to the same representation.
``If-Range`` asks the server to check that; servers that ignore it are caught by comparing the
validator and the length of their answer with what was recorded when the partial file began. An answer
that does not fit starts the file over and is never appended.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypeAlias

from privatellm_operator.fetcher.errors import (
    AccessDeniedError,
    InvalidSourceError,
    ModelNotFoundError,
    SourceDisturbedError,
)

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_HEALING = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Statuses that say "not now"; any other error status says "no"."""


@dataclass(frozen=True, slots=True)
class Representation:
    """What identifies the bytes that a server offered."""

    validator: str | None
    """Strong entity tag or time of last modification; None if the server gives neither."""
    total: int | None
    """Length in bytes, if the server tells it."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A partial file that may be continued."""

    offset: int
    representation: Representation

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest, or for the whole if it has changed."""
        headers = {"Range": f"bytes={self.offset}-"}
        if self.representation.validator is not None:
            headers["If-Range"] = self.representation.validator
        return headers


@dataclass(frozen=True, slots=True)
class Append:
    """The body continues the partial file."""

    representation: Representation


@dataclass(frozen=True, slots=True)
class Replace:
    """The body is the whole file."""

    representation: Representation


@dataclass(frozen=True, slots=True)
class AlreadyWhole:
    """There is nothing left to read."""

    representation: Representation


@dataclass(frozen=True, slots=True)
class Discard:
    """The partial file is of no use; ask again without it."""

    why: str


Plan: TypeAlias = Append | Replace | AlreadyWhole | Discard


def plan(
    status: int,
    headers: Mapping[str, str],
    resume: ResumePoint | None,
    *,
    source: str,
    now: datetime,
) -> Plan:
    """Decide what the body of an answer is.

    Args:
        status: HTTP status.
        headers: headers of the answer, with a look-up that ignores case.
        resume: what was asked for; None asked for the whole file.
        source: name of the source, for messages.
        now: the current time, for a Retry-After that is a date.

    Raises:
        SourceDisturbedError: the server says "not now".
        ModelNotFoundError, AccessDeniedError, InvalidSourceError: the server says "no".
    """
    if status == HTTPStatus.OK:
        return Replace(_representation(headers, _length(headers)))
    if status == HTTPStatus.PARTIAL_CONTENT:
        return _plan_partial(headers, resume)
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and resume is not None:
        return _plan_unsatisfiable(headers, resume)
    raise _refusal(status, headers, source, now)


def _plan_partial(headers: Mapping[str, str], resume: ResumePoint | None) -> Plan:
    if resume is None:
        raise InvalidSourceError(
            "The source answers a part without being asked for one; use a server that follows "
            "HTTP's rules for ranges."
        )
    first, total = _content_range(headers)
    offered = _representation(headers, total)
    if first != resume.offset:
        return Discard(f"the server continued at byte {first} instead of {resume.offset}")
    if not _same(resume.representation, offered):
        return Discard("the file has changed at the source")
    known = resume.representation
    return Append(Representation(known.validator, offered.total or known.total))


def _plan_unsatisfiable(headers: Mapping[str, str], resume: ResumePoint) -> Plan:
    _, total = _content_range(headers)
    offered = _representation(headers, total)
    if total == resume.offset and _same(resume.representation, offered):
        return AlreadyWhole(resume.representation)
    return Discard("the partial file is longer than the file at the source")


def _same(known: Representation, offered: Representation) -> bool:
    return all(
        ours is None or theirs is None or ours == theirs
        for ours, theirs in (
            (known.validator, offered.validator),
            (known.total, offered.total),
        )
    )


def _refusal(status: int, headers: Mapping[str, str], source: str, now: datetime) -> Exception:
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return ModelNotFoundError(
            f"{source} does not exist (HTTP {status}); correct the model's source."
        )
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return AccessDeniedError(
            f"{source} may not be read (HTTP {status}); it is gated, private or does not exist. "
            "Accept its licence at the hub and give the platform a token that may read it."
        )
    if status in _HEALING:
        return SourceDisturbedError(
            f"{source} is not available now (HTTP {status}); wait or use a mirror.",
            retry_after=parse_retry_after(headers.get("retry-after"), now),
        )
    return InvalidSourceError(
        f"{source} cannot be fetched (HTTP {status}); correct the model's source."
    )


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds a server asks us to wait, from a number or a date; None if unreadable."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())


def _representation(headers: Mapping[str, str], total: int | None) -> Representation:
    etag = headers.get("etag")
    # A weak tag does not promise equal bytes and must not be sent in If-Range.
    strong = etag if etag and not etag.startswith("W/") else None
    return Representation(strong or headers.get("last-modified"), total)


def _length(headers: Mapping[str, str]) -> int | None:
    value = headers.get("content-length", "")
    return int(value) if value.isascii() and value.isdigit() else None


def _content_range(headers: Mapping[str, str]) -> tuple[int | None, int | None]:
    match = _CONTENT_RANGE.fullmatch(headers.get("content-range", ""))
    if match is None:
        return None, None
    first, _, total = match.groups()
    return (
        int(first) if first is not None else None,
        int(total) if total != "*" else None,
    )
