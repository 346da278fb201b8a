"""What a query in Prometheus' language names: the metrics that it reads and the labels that it uses."""

import re
from dataclasses import dataclass

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_MATCHERS = re.compile(r"\{[^{}]*\}")
_WINDOW = re.compile(r"\[[^\]]*\]")
_GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_NAME = re.compile(r"[A-Za-z_:][\w:]*")
_WORDS = frozenset(
    {"sum", "max", "min", "avg", "count", "rate", "increase", "abs", "histogram_quantile", "vector"}
    | {"and", "or", "unless", "bool", "offset"}
)
"""Functions and operators; a name that is none of them is that of a metric."""


@dataclass(frozen=True, slots=True)
class Named:
    """What a query names."""

    metrics: frozenset[str]
    labels: frozenset[str]


def named_in(expression: str) -> Named:
    """Return what a query names."""
    bare = _STRING.sub('""', expression)
    labels = {label for found in _MATCHERS.findall(bare) for label in _NAME.findall(found)}
    labels |= {label for _, listed in _GROUPING.findall(bare) for label in _NAME.findall(listed)}
    for pattern in (_MATCHERS, _WINDOW, _GROUPING):
        bare = pattern.sub(" ", bare)
    names = set(_NAME.findall(bare.replace('""', " "))) - _WORDS
    return Named(frozenset(names), frozenset(labels))
