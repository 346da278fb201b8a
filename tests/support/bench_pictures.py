"""Charts as parts of the page of measurements."""

from dataclasses import dataclass
from typing import Any

from bench_plots import Chart, bars, lines

Figures = dict[str, Any]
"""What a bench left as JSON."""

PICTURES = "measurements"
"""The directory of the charts, beside the page."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One chart: the name of its file, and its content."""

    name: str
    chart: Chart
    svg: str

    @property
    def line(self) -> str:
        """The line that shows it."""
        return f"\n![{self.chart.title}]({PICTURES}/{self.name}.svg)\n"


Part = str | Picture
"""A line of a section, or a chart in it."""


def line_picture(name: str, chart: Chart) -> Picture:
    """Return a chart of lines."""
    return Picture(name, chart, lines(chart))


def bar_picture(name: str, chart: Chart) -> Picture:
    """Return a chart of bars."""
    return Picture(name, chart, bars(chart))
