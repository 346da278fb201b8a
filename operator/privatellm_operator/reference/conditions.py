"""``docs/reference/conditions.md``: every condition, and every reason that one or an event can carry."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from privatellm.api.api_token_request import TokenCondition
from privatellm.api.llm_instance import InstanceCondition
from privatellm.api.llm_model import ModelCondition
from privatellm_operator.fetcher import errors
from privatellm_operator.reconcile.instance import reasons as instance
from privatellm_operator.reconcile.model import reasons as model
from privatellm_operator.reconcile.token import reasons as token
from privatellm_operator.reference.docstrings import attribute_texts, in_markdown

_HEADER = """\
# Conditions and their reasons

Generated from the code by `make crds`; a test compares. A condition's message says in one sentence what
is wrong and what to do; its reason is for machines and does not change between releases without notice.
[Events](events.md) carry the same reasons. Reasons of a failed fetch appear in the `ModelAvailable` and
`Ready` conditions of an `LLMInstance`, and in those of an `LLMModel` that the platform fetches itself.
"""

_TYPES_HEADER = """
## Conditions

| condition | of | what it says when it is true |
|---|---|---|
"""

_REASONS_HEADER = """
## Reasons

| object | reason | what it means |
|---|---|---|
"""

FETCH = "fetch of a model"

_ENUMS: tuple[tuple[str, type[StrEnum]], ...] = (
    ("LLMInstance", instance.Reason),
    ("APITokenRequest", token.Reason),
    ("LLMModel", model.Reason),
)


_TYPES: tuple[tuple[str, type[StrEnum]], ...] = (
    ("LLMInstance", InstanceCondition),
    ("APITokenRequest", TokenCondition),
    ("LLMModel", ModelCondition),
)


def conditions_page() -> str:
    """Return the page."""
    types = (
        f"| `{name}` | {kind} | {in_markdown(text)} |\n" for kind, name, text in condition_types()
    )
    rows = (f"| {kind} | `{reason}` | {in_markdown(text)} |\n" for kind, reason, text in reasons())
    return "".join((_HEADER, _TYPES_HEADER, *types, _REASONS_HEADER, *rows))


def condition_types() -> Iterator[tuple[str, str, str]]:
    """Yield object, condition type and what it says when it is true.

    Raises:
        KeyError: when a type has no text.
    """
    yield from _members(_TYPES)


def reasons() -> Iterator[tuple[str, str, str]]:
    """Yield object, reason and meaning.

    Raises:
        KeyError: when a reason has no text.
    """
    yield from _members(_ENUMS)
    meanings = {error.reason: _first_line(error) for error in errors.FetchError.__subclasses__()}
    yield from ((FETCH, reason.value, meanings[reason]) for reason in errors.FetchReason)


def _members(enums: Iterable[tuple[str, type[StrEnum]]]) -> Iterator[tuple[str, str, str]]:
    for kind, enum in enums:
        texts = attribute_texts(enum)
        yield from ((kind, member.value, texts[member.name]) for member in enum)


def _first_line(error: type[errors.FetchError]) -> str:
    return (error.__doc__ or "").partition("\n")[0]
