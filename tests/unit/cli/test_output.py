import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from privatellm_cli import output
from privatellm_cli.output import Column, Format, field

COLUMNS = (
    Column("NAME", field("metadata.name")),
    Column("PHASE", field("status.phase")),
    Column("MORE", field("spec.model"), wide=True),
)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _item(name: str, phase: str | None = None) -> dict[str, Any]:
    status = {"phase": phase} if phase else {}
    metadata = {"name": name, "managedFields": [{"manager": "x"}]}
    return {"metadata": metadata, "spec": {"model": "m"}, "status": status}


def test_columns_are_aligned_and_empty_cells_are_named() -> None:
    """As kubectl prints them, so that eyes and scripts are used to it."""
    printed = output.table([_item("chat", "Ready"), _item("a-longer-name")], COLUMNS)

    assert printed.splitlines() == [
        "NAME            PHASE",
        "chat            Ready",
        "a-longer-name   <none>",
    ]


def test_wide_columns_are_shown_when_asked_for() -> None:
    """And only then."""
    assert output.table([_item("chat")], COLUMNS, wide=True).splitlines()[0].endswith("MORE")


def test_characters_that_take_two_cells_keep_the_columns_straight() -> None:
    """A display name may be Chinese."""
    rows = output.grid([["模型", "x"], ["abcd", "y"]]).splitlines()

    assert rows == ["模型   x", "abcd   y"]


@pytest.mark.parametrize("form", [Format.JSON, Format.YAML])
def test_a_list_for_programs_is_a_kubernetes_list(
    form: Format, capsys: pytest.CaptureFixture[str]
) -> None:
    """What worked on kubectl's output works on ours; who wrote which field is left out."""
    output.show_list([_item("chat")], COLUMNS, form, nothing="none")

    printed = capsys.readouterr().out
    document = json.loads(printed) if form is Format.JSON else yaml.safe_load(printed)
    assert document["kind"] == "List"
    assert document["items"][0]["metadata"] == {"name": "chat"}


def test_an_empty_list_is_a_sentence_for_people_and_a_list_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A pipe gets nothing to stumble over."""
    output.show_list([], COLUMNS, Format.TABLE, nothing="There is none.")
    seen = capsys.readouterr()
    output.show_list([], COLUMNS, Format.JSON, nothing="There is none.")

    assert (seen.out, seen.err) == ("", "There is none.\n")
    assert json.loads(capsys.readouterr().out)["items"] == []


@given(st.text())
def test_nothing_that_comes_from_elsewhere_reaches_the_terminal_as_control(text: str) -> None:
    """Neither an escape sequence nor a character that turns the direction of text."""
    shown = output.printable(text)

    assert not any(ord(c) < 32 and c not in "\t\n" for c in shown)
    assert not any("\x7f" <= c <= "\x9f" or c in "\u202e\u2066" for c in shown)


def test_ordinary_text_is_shown_as_it_is() -> None:
    """Also in other languages, and over several lines."""
    assert output.printable("Größe\n\t日本語 🙂") == "Größe\n\t日本語 🙂"


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        ("2026-11-30T11:59:59Z", "1s"),
        ("2026-11-30T11:34:00Z", "26m"),
        ("2026-11-30T07:00:00Z", "5h"),
        ("2026-11-27T08:00:00Z", "3d4h"),
        ("2026-10-01T12:00:00Z", "60d"),
        ("2026-11-30T12:00:09Z", "0s"),
        ("2026-11-30T11:59:59.123456Z", "0s"),
        ("", ""),
    ],
)
def test_ages_are_written_as_kubectl_writes_them(since: str, expected: str) -> None:
    """A clock that is ahead of ours makes no negative age."""
    assert output.elapsed(since, NOW) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (253_113_024, "253 MB"), (7_300_000_000, "7.3 GB"), (1500, "2 kB")],
)
def test_sizes_are_for_people(count: int, expected: str) -> None:
    """In decimal units, as hubs show them."""
    assert output.size(count) == expected


class _Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("form", [Format.JSON, Format.YAML])
def test_both_forms_for_programs_say_the_same(form: Format) -> None:
    """Also of values for which YAML has no word of its own."""
    content = {"state": _Colour.RED, "pair": (1, None), "text": "caf\u00e9: yes"}

    read = yaml.safe_load(output.document(content, form))

    assert read == {"state": "red", "pair": [1, None], "text": "caf\u00e9: yes"}
