"""Label selectors, matched as Kubernetes matches them and written as a query writes them."""

import re
from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from privatellm_sync_agent.published.model import SpecModel


class Operator(StrEnum):
    """The four operators of a requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class Requirement(SpecModel):
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the requirement; NotIn is met by an absent label."""
        match self.operator:
            case Operator.IN:
                return self.key in labels and labels[self.key] in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels

    def query(self) -> str:
        """Return the requirement as a ``labelSelector`` parameter writes it."""
        match self.operator:
            case Operator.IN:
                return f"{self.key} in ({','.join(self.values)})"
            case Operator.NOT_IN:
                return f"{self.key} notin ({','.join(self.values)})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"


_KEY = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")


class LabelSelector(SpecModel):
    """``matchLabels`` and ``matchExpressions``; an empty selector matches everything."""

    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels is selected."""
        found = labels or {}
        return all(found.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(found) for requirement in self.match_expressions
        )

    def preselection(self) -> str:
        """Return a ``labelSelector`` parameter that leaves out nothing that matches.

        Rendered templates may hold what no label can be; such a selector is for :meth:`matches` alone, as
        a comma in a value would change what a query asks for.
        """
        required = self.match_expressions
        keys = (*self.match_labels, *(one.key for one in required))
        values = (*self.match_labels.values(), *(value for one in required for value in one.values))
        is_legal = all(map(_KEY.fullmatch, keys)) and all(map(_VALUE.fullmatch, values))
        return self.query() if is_legal else ""

    def query(self) -> str:
        """Return the selector as a ``labelSelector`` parameter; empty when it selects everything."""
        pairs = [f"{key}={value}" for key, value in sorted(self.match_labels.items())]
        return ",".join([*pairs, *(requirement.query() for requirement in self.match_expressions)])
