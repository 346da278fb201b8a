"""What a pass of a controller does, noted while it runs and told when it ends.

The frame around each pass makes a record current; whoever does a step of the pass notes it there, and the
client notes every write. At the end a pass that changed something is one log line, and one span with its
steps below it where traces are wanted. A pass over a settled object leaves no word.

Who looks from outside needs no pass: :func:`step` outside of one does nothing.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from typing_extensions import override

from privatellm.errors import AlreadyExistsError, ForbiddenError, KubernetesError, NotFoundError
from privatellm.kube import KubeClient, Manifest
from privatellm.kube.client import PatchType
from privatellm.telemetry.tracing import Attribute, SpanRecord

_UNTOLD: Final = frozenset({"events"})
"""Resources whose writes are no change that somebody wants to read about: they are the telling itself."""

_ANSWERS: Final = (AlreadyExistsError, NotFoundError)
"""What a write is told that spares a look before it: there is such an object, or there is none."""


@dataclass(slots=True)
class PassRecord:
    """One pass.

    Attributes:
        began: Unix time in nanoseconds.
        steps: What it did, in order.
        changes: Its writes in words, such as ``apply deployments chat-llama``.
        error: The class of the exception that ended it; empty when none did.
        ended: Unix time in nanoseconds; 0 while it runs.
    """

    began: int
    steps: list[SpanRecord] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    error: str = ""
    ended: int = 0

    @property
    def seconds(self) -> float:
        """How long it took."""
        return round((self.ended - self.began) / 1e9, 3)

    def fail(self, error: Exception) -> None:
        """Note that it failed."""
        self.error = type(error).__name__

    def span(self, name: str, attributes: Mapping[str, Attribute]) -> SpanRecord:
        """Return it as a span with its steps below it."""
        return SpanRecord(name, self.began, self.ended, attributes, self.error, tuple(self.steps))


TellFailure = Callable[[Exception], None]
"""How a queue tells the frame around a pass that the pass failed."""


_current: Final[ContextVar[PassRecord | None]] = ContextVar("current_pass", default=None)


@contextmanager
def recorded() -> Iterator[PassRecord]:
    """Record a pass; whoever sees it fail notes that in the record."""
    record = PassRecord(time.time_ns())
    token = _current.set(record)
    try:
        yield record
    finally:
        _current.reset(token)
        record.ended = time.time_ns()


@contextmanager
def step(name: str, **attributes: Attribute) -> Iterator[None]:
    """Note what is done inside as a step of the current pass, if there is one."""
    record = _current.get()
    if record is None:
        yield
        return
    began, failure = time.time_ns(), ""
    try:
        yield
    except Exception as error:
        failure = type(error).__name__
        raise
    finally:
        record.steps.append(SpanRecord(name, began, time.time_ns(), attributes, failure))


class NotingClient(KubeClient):
    """A client whose writes are steps of the pass that makes them."""

    @override
    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = "application/json",
    ) -> Manifest:
        """Send one request, and note it when it writes.

        Raises:
            KubernetesError: or the subclass that fits the answer.
        """
        record = _current.get()
        if record is None or method == "GET":
            return await super().request(method, path, query=query, body=body, content=content)
        write = write_of(method, path, body, content)
        is_trial = "dryRun" in (query or {})
        with _writing(record, write, is_trial=is_trial):
            answer = await super().request(method, path, query=query, body=body, content=content)
        if write.resource not in _UNTOLD and not is_trial:
            record.changes.append(write.text)
        return answer


@dataclass(frozen=True, slots=True)
class WriteFacts:
    """One write, without what is written."""

    verb: str
    resource: str
    namespace: str
    name: str

    @property
    def text(self) -> str:
        """The write in words."""
        return f"{self.verb} {self.resource} {self.name}"

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The write as attributes of a span."""
        return {"k8s.namespace.name": self.namespace, "private_llm.object.name": self.name}


@contextmanager
def _writing(record: PassRecord, write: WriteFacts, *, is_trial: bool) -> Iterator[None]:
    """Note a write as a step; one that asks whether it can be done is a try, and the answer no failure."""
    began, answer, failure = time.time_ns(), "", ""
    try:
        yield
    except KubernetesError as error:
        # Who did not expect the answer lets it end the pass, which then is what failed.
        if isinstance(error, _ANSWERS) or (is_trial and isinstance(error, ForbiddenError)):
            answer = type(error).__name__
        else:
            failure = type(error).__name__
        raise
    finally:
        name = f"{'try to ' if is_trial or answer else ''}{write.verb} {write.resource}"
        told: dict[str, Attribute] = {"private_llm.answer": answer} if answer else {}
        attributes = write.attributes | told
        record.steps.append(SpanRecord(name, began, time.time_ns(), attributes, failure))


def write_of(method: str, path: str, body: Any, content: str) -> WriteFacts:
    """Return what a request writes, by its method and path.

    Args:
        method: ``POST``, ``PUT``, ``PATCH`` or ``DELETE``.
        path: Path of the API, such as ``/api/v1/namespaces/acme/secrets``.
        body: What is sent; of a new object only its name is read.
        content: How a patch is read.
    """
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:  # noqa: PLR2004 - namespaces, name, resource
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    verbs = {"POST": "create", "PUT": "replace", "DELETE": "delete"}
    verb = verbs.get(method) or ("apply" if content == PatchType.APPLY else "patch")
    named = name or str(((body or {}).get("metadata") or {}).get("name", ""))
    return WriteFacts(
        verb, f"{resource}/{subresource}" if subresource else resource, namespace, named
    )
