"""Label selectors, matched as Kubernetes matches them and written as a query writes them."""

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

    def query(self) -> str:
        """Return the selector as a ``labelSelector`` parameter; empty when it selects everything."""
        pairs = [f"{key}={value}" for key, value in sorted(self.match_labels.items())]
        return ",".join([*pairs, *(requirement.query() for requirement in self.match_expressions)])
