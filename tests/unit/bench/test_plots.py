"""Charts: the same bytes from the same numbers, readable on light and dark, everything inside the frame."""

import math
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plots import (
    COLOURS,
    HEIGHT,
    TEXT,
    WIDTH,
    Axis,
    Chart,
    Series,
    bars,
    lines,
    round_step,
    scale_for,
    short,
)

SVG = "{http://www.w3.org/2000/svg}"
LIGHT, DARK = "#ffffff", "#131416"
"""The backgrounds of the documentation's two themes."""

LINES = Chart(
    "Requests & <latency>",
    Axis("keys", log=True),
    Axis("requests a second"),
    (10, 1000, 100_000),
    (Series("check", (35204.0, 33417.0, 27410.0)), Series("bare", (49090.0, 49665.0, 48977.0))),
    wanted=40_000,
)
BARS = Chart(
    "Streams a second",
    Axis("connections"),
    Axis("streams a second", log=True),
    ("1", "16", "64"),
    (Series("edge", (400.0, 900.0, 950.0)), Series("LiteLLM", (20.0, 40.0, 0.0))),
)


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_text_and_colours_stand_out_from_both_themes(background: str) -> None:
    """Charts have no background of their own; 3 is what WCAG asks of graphics."""
    assert contrast(TEXT, background) > 4
    assert min(contrast(colour, background) for colour in COLOURS) > 3


@pytest.mark.parametrize(("draw", "chart"), [(lines, LINES), (bars, BARS)])
def test_a_chart_is_the_same_each_time_and_keeps_within_its_frame(
    draw: object, chart: Chart
) -> None:
    """It is XML, whatever the titles hold, and every place is a number inside."""
    assert callable(draw)
    svg = draw(chart)
    assert svg == draw(chart)
    root = ET.fromstring(svg)  # noqa: S314 - our own text

    assert root.findtext(f"{SVG}title") == chart.title
    for element in root.iter():
        for name, size in (("x", WIDTH), ("y", HEIGHT), ("cx", WIDTH), ("cy", HEIGHT)):
            if name in element.attrib:
                assert 0 <= float(element.attrib[name]) <= size, element.attrib


def test_a_chart_says_its_numbers_to_who_cannot_see_it() -> None:
    """The description holds every series and value."""
    told = ET.fromstring(lines(LINES)).findtext(f"{SVG}desc")  # noqa: S314 - our own text

    assert told == (
        "requests a second by keys. check: 35 204 at 10, 33 417 at 1 000, 27 410 at 100 000; "
        "bare: 49 090 at 10, 49 665 at 1 000, 48 977 at 100 000."
    )


def test_higher_values_stand_higher_and_a_bound_is_drawn() -> None:
    """Both on the same scale."""
    root = ET.fromstring(lines(LINES))  # noqa: S314 - our own text
    first, second = root.iter(f"{SVG}polyline")

    def heights(line: ET.Element) -> list[float]:
        return [float(point.split(",")[1]) for point in line.attrib["points"].split()]

    assert all(b < a for a, b in zip(heights(first), heights(second), strict=True))
    assert "wanted" in {text.text for text in root.iter(f"{SVG}text")}


def test_each_bar_says_its_value() -> None:
    """A logarithmic axis hides how different two bars are."""
    root = ET.fromstring(bars(BARS))  # noqa: S314 - our own text
    texts = {text.text for text in root.iter(f"{SVG}text")}

    assert {"400", "900", "950", "20", "40", "0"} <= texts


MEASURED = st.just(0.0) | st.floats(1e-6, 1e9)


@given(st.lists(MEASURED, min_size=1, max_size=8), st.booleans())
def test_a_scale_holds_all_values(values: list[float], log: bool) -> None:
    """With few round ticks; what a logarithm cannot show stands at its lower end."""
    scale = scale_for(values, 300, 50, log=log)
    ticks = scale.ticks()

    assert all(49.9 <= scale(value) <= 300.1 for value in values)
    assert 2 <= len(ticks) <= (400 if log else 8)
    assert ticks == sorted(ticks)


@given(st.floats(1e-6, 1e12))
def test_steps_are_one_two_or_five_times_a_power_of_ten(extent: float) -> None:
    """And no more than people can read beside each other."""
    step = round_step(extent)
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)

    assert min(abs(mantissa - wanted) for wanted in (1, 2, 5)) < 1e-6
    assert extent / step <= 6 + 1e-6


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.1234, "0.123"), (12.34, "12.3"), (1234.5, "1 234")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    """Three digits, or thousands with a space."""
    assert short(value) == text
