"""Every value of the chart has a type, a default and a sentence, and unknown ones are refused."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from privatellm_local.packaging.listing import Entry, entries
from privatellm_local.packaging.reference import property_at, reference_page
from privatellm_local.packaging.schema import Schema, values_schema
from privatellm_local.packaging.values import Values
from privatellm_local.packaging.values_file import values_file

SCHEMA = values_schema()


def everything(items: tuple[Entry, ...]) -> Iterator[Entry]:
    """Yield values and groups."""
    for item in items:
        yield item
        yield from everything(item.members)


ENTRIES = tuple(everything(entries()))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: ".".join(entry.path))
def test_a_value_says_what_it_is_for(entry: Entry) -> None:
    """In at least one sentence."""
    assert entry.text.endswith((".", "…"))


def test_the_file_of_values_holds_the_defaults() -> None:
    """YAML and types say the same."""
    written = yaml.safe_load(values_file())

    assert Values.model_validate(written) == Values()
    assert written == Values().model_dump(mode="json", by_alias=True)


def test_the_reference_page_lists_every_value() -> None:
    """Once, with its default."""
    page = reference_page()

    for entry in ENTRIES:
        if not entry.members:
            assert page.count(f"| `{'.'.join(entry.path)}` |") == 1


def groups(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield every group of the schema by its type's name."""
    yield "Values", schema
    yield from schema["$defs"].items()


@pytest.mark.parametrize(("name", "group"), tuple(groups(SCHEMA)), ids=lambda part: str(part)[:20])
def test_an_unknown_value_is_refused(name: str, group: Schema) -> None:
    """Everywhere but among the globals, which belong to all charts of an umbrella."""
    assert group["additionalProperties"] is (name == "Global")


NULLABLE = {"replicas", "maxInstances", "maxTokenRequests", "topologySpreadConstraints"}
"""What may be unset: somebody else decides then."""


def test_a_default_cannot_be_taken_away_unless_null_has_a_meaning() -> None:
    """`null` makes Helm drop a default, and templates would stumble."""
    for entry in ENTRIES:
        parent, name = property_at(SCHEMA, entry.path[:-1]), entry.path[-1]
        assert (name in parent["required"]) is (name not in NULLABLE), entry.path


@pytest.mark.parametrize(
    "values",
    [
        {"PUBLIC_HOST": "llm.example.com/path"},
        {"PUBLIC_HOST": "a b"},
        {"PUBLIC_SCHEME": "ftp"},
        {"tokens": {"namespace": "Upper"}},
        {"tokens": {"longestLife": "3 days"}},
        {"image": {"digest": "sha256:12"}},
        {"onboardedNamespaces": [""]},
        {"admissionPolicies": {"breakGlassGroups": []}},
        {"admissionPolicies": {"furtherOperators": ["a\nb"]}},
        {"edge": {"corsOrigins": ["example.com"]}},
        {"ingress": {"className": 'x" || true || "'}},
        {"ocm": {"enabled": True}},
    ],
    ids=str,
)
def test_a_value_that_cannot_work_is_refused(values: dict[str, Any]) -> None:
    """Before anything is rendered."""
    with pytest.raises(ValidationError):
        Values.model_validate(values)
