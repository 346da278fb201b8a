"""What a metric is declared with."""

from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType


class FamilyType(StrEnum):
    """The types of Prometheus that we use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Label:
    """A label and what bounds its values.

    Attributes:
        name: Its name.
        values: A sentence about its values.
    """

    name: str
    values: str


@dataclass(frozen=True, slots=True)
class Family:
    """One metric.

    Attributes:
        name: Its name as a query has it; a counter's ends in ``_total``.
        type: Its type.
        text: What it says, in a sentence.
        labels: Its labels, in the order in which values are given.
        buckets: Upper bounds of a histogram, in the unit of its name.
    """

    name: str
    type: FamilyType
    text: str
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of its labels."""
        return tuple(label.name for label in self.labels)

    @property
    def series(self) -> tuple[str, ...]:
        """The names that a query may use."""
        if self.type is FamilyType.HISTOGRAM:
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


@dataclass(frozen=True, slots=True)
class Part:
    """A program and its metrics.

    Attributes:
        name: What people call it.
        served_at: Where ``/metrics`` is.
        families: What it exposes.
    """

    name: str
    served_at: str
    families: tuple[Family, ...]


def counter(name: str, text: str, *labels: Label) -> Family:
    """Declare a number that only grows."""
    return Family(name, FamilyType.COUNTER, text, labels)


def gauge(name: str, text: str, *labels: Label) -> Family:
    """Declare a number that is as it is."""
    return Family(name, FamilyType.GAUGE, text, labels)


def histogram(name: str, text: str, *labels: Label, buckets: tuple[float, ...]) -> Family:
    """Declare a distribution."""
    return Family(name, FamilyType.HISTOGRAM, text, labels, buckets)


def families_of(module: ModuleType) -> tuple[Family, ...]:
    """Return the families that a module declares, in its order."""
    return tuple(value for value in vars(module).values() if isinstance(value, Family))
