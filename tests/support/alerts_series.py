"""Series as Prometheus keeps them: what a part exposes, with the labels of a scrape, over some hours.

A series is made from the declaration of its metric, so a test cannot name a metric or a label that no part
has. A course says what the metric is at a moment, in minutes since the trouble began: what is before zero
is a quiet half hour, in which no window of a rule is empty. Where a course is ``None`` the series is not
exposed, and Prometheus marks it as ended.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from types import ModuleType
from typing import Final

from prometheus_client.utils import floatToGoString

from privatellm.telemetry.families import Family, authserver, operator, sync_agent
from privatellm.telemetry.families.family import families_of

SCRAPE_SECONDS: Final = 30
"""How often the charts have parts scraped."""

QUIET_MINUTES: Final = 30
TROUBLED_MINUTES: Final = 120
HOURS: Final = (QUIET_MINUTES + TROUBLED_MINUTES) / 60

MOMENTS: Final = tuple(
    seconds / 60 - QUIET_MINUTES
    for seconds in range(0, (QUIET_MINUTES + TROUBLED_MINUTES) * 60 + 1, SCRAPE_SECONDS)
)
"""Every scrape, in minutes since the trouble began."""

Course = Callable[[float], float | None]


def steady(value: float) -> Course:
    """Be the same all the time."""
    return lambda _minute: value


def turning(usual: float | None, then: float | None, minutes: float = TROUBLED_MINUTES) -> Course:
    """Be something else from the beginning of the trouble on, for some minutes."""
    return lambda minute: then if 0 <= minute < minutes else usual


def counting(per_minute: float, then: float | None = None) -> Course:
    """Grow from zero, and at another speed from the beginning of the trouble on."""
    later = per_minute if then is None else then
    return lambda minute: per_minute * (QUIET_MINUTES + min(minute, 0)) + later * max(minute, 0)


def stepping(*minutes: float, before: float = 0) -> Course:
    """Count single events, each in its minute, after those of the days before."""
    return lambda now: before + sum(1 for minute in minutes if minute <= now)


@dataclass(frozen=True, slots=True)
class Series:
    """One series.

    Attributes:
        name: Its name.
        labels: Its labels, by name.
        course: What it is at each moment.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    course: Course

    @property
    def selector(self) -> str:
        """The series as a query names it, which is what tells it from others."""
        listed = ", ".join(f'{name}="{value}"' for name, value in sorted(self.labels))
        return f"{self.name}{{{listed}}}"

    @property
    def values(self) -> str:
        """Its samples in the notation of Prometheus' rule tests."""
        return " ".join(_samples([self.course(minute) for minute in MOMENTS]))

    def elsewhere(self, namespace: str) -> "Series":
        """Return the same of a release in another namespace."""
        labels = dict(self.labels) | {"namespace": namespace}
        return replace(self, labels=tuple(labels.items()))


def _number(value: float) -> str:
    """Return a number as our programs write it, and the bound of a bucket above all."""
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]


def _samples(values: list[float | None]) -> Iterator[str]:
    for before, value in pairwise([None, *values]):
        if value is not None:
            yield _number(value)
        else:
            yield "_" if before is None else "stale"


@dataclass(frozen=True, slots=True)
class Target:
    """One pod of a part, as the charts have it scraped.

    Attributes:
        families: What the part exposes.
        labels: What the scrape adds to each series.
    """

    families: ModuleType
    labels: dict[str, str]

    def exposes(self, family: Family, course: Course, **labels: str) -> Series:
        """Return a series of a counter or gauge.

        Raises:
            ValueError: when the part has no such metric, or the metric other labels.
        """
        self._require(family, labels)
        (name,) = family.series
        return Series(name, tuple((self.labels | labels).items()), course)

    def observes(
        self, family: Family, per_minute: Mapping[float, Course], **labels: str
    ) -> tuple[Series, ...]:
        """Return a histogram's buckets.

        Args:
            family: The histogram.
            per_minute: How often which value was observed so far.
            labels: Its labels.

        Raises:
            ValueError: when the part has no such metric, or the metric other labels.
        """
        self._require(family, labels)
        return tuple(
            Series(
                f"{family.name}_bucket",
                tuple((self.labels | labels | {"le": _number(bound)}).items()),
                _up_to(bound, per_minute),
            )
            for bound in (*family.buckets, float("inf"))
        )

    def _require(self, family: Family, labels: Mapping[str, str]) -> None:
        if family not in families_of(self.families):
            raise ValueError(f"{self.labels['job']} exposes no {family.name}.")
        if labels.keys() != set(family.label_names):
            raise ValueError(f"{family.name} has the labels {family.label_names}, not {[*labels]}.")


def _up_to(bound: float, counts: Mapping[float, Course]) -> Course:
    below = [course for value, course in counts.items() if value <= bound]
    return lambda minute: sum(course(minute) or 0.0 for course in below)


def operator_pod(namespace: str, number: int) -> Target:
    """Return a pod of the operator."""
    return _pod(operator, namespace, "private-llm-operator", number, "metrics")


def authserver_pod(namespace: str, number: int) -> Target:
    """Return a pod of the ForwardAuth service."""
    return _pod(authserver, namespace, "private-llm-authserver", number, "admin")


def sync_agent_pod(namespace: str, number: int) -> Target:
    """Return a pod of the sync agent."""
    return _pod(sync_agent, namespace, "private-llm-sync-agent", number, "metrics")


def _pod(families: ModuleType, namespace: str, part: str, number: int, port: str) -> Target:
    labels = {
        "namespace": namespace,
        "job": part,
        "service": part,
        "pod": f"{part}-{number}",
        "container": "main",
        "endpoint": port,
        "instance": f"127.100.0.{number}:{port}",
    }
    return Target(families, labels)
