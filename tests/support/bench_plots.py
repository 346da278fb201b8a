"""Small charts as SVG, made from numbers alone: the same numbers make the same bytes.

Two forms are enough for measurements: lines over a growing number, and bars of a few ways beside each
other. Both may have logarithmic axes, because what is compared may differ a hundredfold. Colours are of
middle brightness on no background, so that a chart reads on a light and on a dark page without knowing
which; a test computes the contrasts. Every series has a marker or a place of its own besides its colour,
and every chart a sentence for who cannot see it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 84, 40, 64, 48
TEXT = "#747c87"
GRID = "#8f97a1"
COLOURS = ("#3a80c9", "#c2701e", "#2a8f68", "#9a6bc9")
FONT = "font-family='system-ui, sans-serif' font-size='12'"
_DASHES = ("", "7 3", "2 3", "9 3 2 3")
_LARGEST_STEP_COUNT = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        label: What it shows, with its unit.
        log: Whether each step is a multiple of the last; then all values must be above zero.
    """

    label: str
    log: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One line or one way: its name and its values, in the order of the chart's steps."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn.

    Attributes:
        title: What the chart says, in a few words.
        x: The steps' axis; of bars only its label counts.
        y: The values' axis.
        steps: Where the values are: numbers for lines, names for bars.
        series: One or more, of one length.
        wanted: A bound to draw across; ``None`` when nothing was promised.
    """

    title: str
    x: Axis
    y: Axis
    steps: tuple[float, ...] | tuple[str, ...]
    series: tuple[Series, ...]
    wanted: float | None = None

    @property
    def sentence(self) -> str:
        """Every number of the chart, for who cannot see it."""
        names = [step if isinstance(step, str) else short(step) for step in self.steps]
        told = (
            f"{each.name}: "
            + ", ".join(f"{short(v)} at {n}" for n, v in zip(names, each.values, strict=True))
            for each in self.series
        )
        return f"{self.y.label} by {self.x.label}. {'; '.join(told)}."


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places.

    Attributes:
        low: The value at ``start``.
        high: The value at ``end``.
        start: A place.
        end: Another place.
        log: Whether equal distances are equal factors.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(value, self.low))
        return self.start + (self.end - self.start) * (at - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return a few round values between the two ends."""
        if self.log:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        step = round_step(self.high - self.low)
        count = math.floor((self.high - self.low) / step + 1e-9)
        return [self.low + number * step for number in range(count + 1)]


def round_step(extent: float) -> float:
    """Return the smallest of 1, 2 or 5 times a power of ten that divides an extent into few steps."""
    power = 10.0 ** math.floor(math.log10(extent / _LARGEST_STEP_COUNT))
    return next(f * power for f in (1, 2, 5, 10) if extent / (f * power) <= _LARGEST_STEP_COUNT)


def scale_for(values: Sequence[float], start: float, end: float, *, log: bool) -> Scale:
    """Return a scale that holds all values and begins at zero, or at a power of ten."""
    if log:
        powers = [math.log10(value) for value in values if value > 0] or [0.0]
        low, high = math.floor(min(powers)), math.ceil(max(powers))
        return Scale(10.0**low, 10.0 ** max(high, low + 1), start, end, log=True)
    highest = max([*values, 0.0]) or 1.0
    step = round_step(highest)
    return Scale(0.0, step * math.ceil(highest / step - 1e-9), start, end)


def short(value: float) -> str:
    """Return a number as people read it."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.3g}"


def lines(chart: Chart) -> str:
    """Return a chart of lines over numbers."""
    steps = [float(step) for step in chart.steps]
    x = scale_for(steps, LEFT, WIDTH - RIGHT, log=chart.x.log)
    if chart.x.log:
        # From the first step to the last: a line that begins in the middle would waste the width.
        x = Scale(min(steps), max(steps), LEFT, WIDTH - RIGHT, log=True)
    y = _values_scale(chart)
    body = [*_frame(chart, y), *(_tick(x(step), short(step)) for step in steps)]
    for number, each in enumerate(chart.series):
        places = [(x(step), y(value)) for step, value in zip(steps, each.values, strict=True)]
        body += _line(number, places)
    return _document(chart, body)


def bars(chart: Chart) -> str:
    """Return a chart of bars: a group for each step, a bar in it for each series."""
    y = _values_scale(chart)
    room = (WIDTH - LEFT - RIGHT) / len(chart.steps)
    wide = min(48.0, room * 0.8 / len(chart.series))
    body = list(_frame(chart, y))
    for place, step in enumerate(chart.steps):
        middle = LEFT + room * (place + 0.5)
        body.append(_tick(middle, str(step)))
        for number, each in enumerate(chart.series):
            left = middle + (number - len(chart.series) / 2) * wide
            body += _bar(number, left, wide, y(each.values[place]), each.values[place])
    return _document(chart, body)


def _values_scale(chart: Chart) -> Scale:
    values = [value for each in chart.series for value in each.values]
    wanted = () if chart.wanted is None else (chart.wanted,)
    return scale_for((*values, *wanted), HEIGHT - BOTTOM, TOP, log=chart.y.log)


def _frame(chart: Chart, y: Scale) -> Iterator[str]:
    """Yield grid, axes' labels, title and legend."""
    for tick in y.ticks():
        at = y(tick)
        yield _rule(at, GRID, "stroke-width='0.5' stroke-opacity='0.6'")
        yield _text(LEFT - 8, at + 4, short(tick), "text-anchor='end'")
    if chart.wanted is not None:
        yield _rule(y(chart.wanted), TEXT, "stroke-width='1.5' stroke-dasharray='4 4'")
        yield _text(WIDTH - RIGHT, y(chart.wanted) - 5, "wanted", "text-anchor='end'")
    yield _text(LEFT, 18, chart.title, "font-size='14' font-weight='600'")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, chart.x.label, "text-anchor='middle'")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"text-anchor='middle' transform='rotate(-90 16 {middle:g})'"
    yield _text(16, middle, chart.y.label, turned)
    at = float(LEFT)
    for number, each in enumerate(chart.series):
        yield _marker(number, at + 5, 38)
        yield _text(at + 16, 42, each.name)
        at += 34 + 7.0 * len(each.name)


def _rule(y: float, colour: str, style: str) -> str:
    return (
        f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y:.1f}' y2='{y:.1f}' "
        f"stroke='{colour}' {style}/>"
    )


def _tick(x: float, label: str) -> str:
    return _text(x, HEIGHT - BOTTOM + 18, label, "text-anchor='middle'")


def _line(number: int, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = f" stroke-dasharray='{_DASHES[number]}'" if _DASHES[number] else ""
    colour = COLOURS[number]
    yield f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='2'{dash}/>"
    for x, y in places:
        yield _marker(number, x, y)


def _bar(number: int, left: float, wide: float, top: float, value: float) -> Iterator[str]:
    height = max(0.5, HEIGHT - BOTTOM - top)
    yield (
        f"<rect x='{left + 1:.1f}' y='{HEIGHT - BOTTOM - height:.1f}' width='{wide - 2:.1f}' "
        f"height='{height:.1f}' fill='{COLOURS[number]}'/>"
    )
    yield _text(left + wide / 2, top - 5, short(value), "text-anchor='middle' font-size='11'")


def _marker(number: int, x: float, y: float) -> str:
    colour = COLOURS[number]
    match number % 4:
        case 0:
            return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='4' fill='{colour}'/>"
        case 1:
            return f"<rect x='{x - 4:.1f}' y='{y - 4:.1f}' width='8' height='8' fill='{colour}'/>"
        case 2:
            corners = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y + 4:.1f} {x - 5:.1f},{y + 4:.1f}"
        case _:
            corners = (
                f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + 5:.1f} {x - 5:.1f},{y:.1f}"
            )
    return f"<polygon points='{corners}' fill='{colour}'/>"


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{TEXT}' {style}>{escape(text)}</text>"


def _document(chart: Chart, body: Sequence[str]) -> str:
    inside = "\n".join(
        (f"<title>{escape(chart.title)}</title>", f"<desc>{escape(chart.sentence)}</desc>", *body)
    )
    box = f"viewBox='0 0 {WIDTH} {HEIGHT}' width='{WIDTH}' height='{HEIGHT}'"
    return f"<svg xmlns='http://www.w3.org/2000/svg' role='img' {box} {FONT}>\n{inside}\n</svg>\n"
