"""What a dashboard is made of, and its JSON as Grafana imports it.

The data source is a variable, because only the platform knows its name. So is the namespace of the release:
a cluster may hold several, and Grafana needs a dashboard once. What only a release knows stands as a mark,
which the chart replaces. Panels stand in rows of 24 columns,
as Grafana counts them.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

Json = dict[str, Any]

SCHEMA_VERSION: Final = 39
"""Grafana's version of the format, that of Grafana 10.4; later versions migrate it."""

RELEASE_NAMESPACE: Final = "%RELEASE_NAMESPACE%"
"""Mark for the namespace of the release that brings the dashboard."""

MAX_STALENESS_SECONDS: Final = "%MAX_STALENESS_SECONDS%"
"""Mark for its ``authserver.maxStalenessSeconds``."""

_COLUMNS: Final = 24
_HEIGHT: Final = 8
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


class Unit(StrEnum):
    """Grafana's names of units."""

    NONE = "short"
    SECONDS = "s"
    PER_SECOND = "ops"
    BYTES_PER_SECOND = "Bps"
    SHARE = "percentunit"


class View(StrEnum):
    """Grafana's names of what shows a panel."""

    GRAPH = "timeseries"
    NUMBER = "stat"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Query:
    """One line or number of a panel.

    Attributes:
        expression: In Prometheus' language.
        legend: Its name; labels stand in double braces.
    """

    expression: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        title: What it shows.
        text: What it says, in a sentence, and when to worry.
        queries: What it draws.
        unit: Unit of its values.
        view: How it is drawn.
    """

    title: str
    text: str
    queries: tuple[Query, ...]
    unit: Unit = Unit.NONE
    view: View = View.GRAPH


@dataclass(frozen=True, slots=True)
class Choice:
    """A variable that people choose a value of, or that follows from what they chose.

    Attributes:
        name: Its name.
        series: Series whose labels have the values.
        label: The label.
        part: Regular expression whose group is the part of the label that is taken; empty for all of it.
        is_shown: Whether people see it.
        title: What people read before it; empty for its name.
        first: Value that is chosen at first where it is among the values; empty for the first of them.
    """

    name: str
    series: str
    label: str
    part: str = ""
    is_shown: bool = True
    title: str = ""
    first: str = ""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Rows of panels.

    Attributes:
        name: Name of its file, and part of its address in Grafana.
        title: What people call it.
        rows: Titles, and the panels of each row.
        choices: Variables beside the data source.
    """

    name: str
    title: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    choices: tuple[Choice, ...] = field(default=())

    @property
    def queries(self) -> Iterator[Query]:
        """Every query of every panel."""
        for _, panels in self.rows:
            for panel in panels:
                yield from panel.queries

    def to_json(self) -> str:
        """Return the file that Grafana imports."""
        dashboard = {
            "uid": f"private-llm-{self.name}",
            "title": f"Private LLM / {self.title}",
            "tags": ["private-llm"],
            "schemaVersion": SCHEMA_VERSION,
            "version": 1,
            "editable": False,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "templating": {"list": [_SOURCE_CHOICE, *map(_variable, self.choices)]},
            "panels": list(_placed(self.rows)),
        }
        return json.dumps(dashboard, indent=1) + "\n"


_SOURCE_CHOICE: Final[Json] = {
    "name": "source",
    "label": "Data source",
    "type": "datasource",
    "query": "prometheus",
}


def _variable(choice: Choice) -> Json:
    chosen = {"current": {"text": choice.first, "value": choice.first}} if choice.first else {}
    return {
        "name": choice.name,
        "label": choice.title or choice.name,
        "type": "query",
        "datasource": _SOURCE,
        "query": f"label_values({choice.series}, {choice.label})",
        "regex": f"/{choice.part}/" if choice.part else "",
        "hide": 0 if choice.is_shown else 2,
        "refresh": 2,
        "sort": 1,
        **chosen,
    }


def _placed(rows: Iterable[tuple[str, tuple[Panel, ...]]]) -> Iterator[Json]:
    number, line = 1, 0
    for title, panels in rows:
        place = {"x": 0, "y": line, "w": _COLUMNS, "h": 1}
        yield {"id": number, "type": "row", "title": title, "gridPos": place, "panels": []}
        width = _COLUMNS // len(panels)
        for column, panel in enumerate(panels):
            place = {"x": column * width, "y": line + 1, "w": width, "h": _HEIGHT}
            yield {"id": number + 1 + column, "gridPos": place, **_panel(panel)}
        number, line = number + 1 + len(panels), line + 1 + _HEIGHT


def _panel(panel: Panel) -> Json:
    return {
        "type": panel.view.value,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit.value, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _SOURCE,
                "expr": query.expression,
                "legendFormat": query.legend,
                "instant": panel.view is not View.GRAPH,
                "format": "table" if panel.view is View.TABLE else "time_series",
            }
            for number, query in enumerate(panel.queries)
        ],
    }
