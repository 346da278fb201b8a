"""Pieces of CEL, the language of the policies.

Values are written as JSON, which CEL reads as its own literals; nothing is ever pasted in bare.
"""

import json
from collections.abc import Iterable, Mapping

from privatellm import labels
from privatellm.admission.facts import Callers


def text(value: str) -> str:
    """Return a string literal."""
    return _literal(value)


def texts(values: Iterable[str]) -> str:
    """Return a literal list of strings."""
    return _literal(list(values))


def table(values: Mapping[str, str]) -> str:
    """Return a literal map of strings."""
    return _literal(dict(values))


def is_none_of(callers: Callers) -> str:
    """Return whether the request comes from somebody else."""
    name = f"!(request.userInfo.username in {texts(callers.usernames)})"
    group = f"!request.userInfo.?groups.orValue([]).exists(g, g in {texts(callers.groups)})"
    return " && ".join(
        part
        for part, given in ((name, callers.usernames), (group, callers.groups))
        if given  # CEL finds no type for the members of an empty list.
    )


def marks_a_child(label_map: str) -> str:
    """Return whether the labels are those of a child of the operator.

    Args:
        label_map: CEL of a map of labels.
    """
    operator = f"optional.of({text(labels.MANAGED_BY_OPERATOR)})"
    by_manager = f"{label_map}[?{text(labels.MANAGED_BY)}] == {operator}"
    by_instance = f"{text(labels.LLM_INSTANCE)} in {label_map}"
    return f"({by_manager} || {by_instance})"


def _literal(value: str | list[str] | dict[str, str]) -> str:
    # JSON would write rare characters as pairs of surrogates, which CEL does not read.
    return json.dumps(value, ensure_ascii=False)
