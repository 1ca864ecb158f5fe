"""A small SVG canvas with two axes: scales, ticks, labels, shapes.

Shapes carry classes that the page's style sheet colours for light and dark, and plain colours
as attributes, so that a figure also stands on its own. There are no style attributes and no
scripts: both would need holes in the page's content policy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from leakscope.reporting.facts.values import power

WIDTH, HEIGHT = 640, 290
LEFT, RIGHT, TOP, BOTTOM = 70, 16, 30, 52

# Okabe and Ito's palette, told apart by colour-blind readers.
COLOURS = {
    "first": "#0072b2", "second": "#d55e00", "third": "#009e73", "fourth": "#cc79a7",
    "fifth": "#56b4e9", "sixth": "#e69f00", "ink": "#444", "grid": "#ddd",
}  # fmt: skip
SERIES = tuple(COLOURS)[:6]
"""The kinds of shapes that tell series apart."""


@dataclass(frozen=True)
class Scale:
    """Maps values from `low` to `high` onto pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of `value`."""
        low, high = self._plain(self.low), self._plain(self.high)
        portion = (self._plain(value) - low) / (high - low) if high > low else 0.5
        return self.start + portion * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values between `low` and `high`, at most about `most` of them."""
        return _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high, most)

    def _plain(self, value: float) -> float:
        return math.log(value) if self.log else value


@dataclass
class Canvas:
    """One figure under construction."""

    name: str
    """Unique on its page; prefixes the ids."""
    title: str
    description: str
    """What a reader who cannot see the figure should know."""
    parts: list[str] = field(default_factory=list)

    def across(self, low: float, high: float, log: bool = False) -> Scale:
        """A horizontal scale over the plot."""
        return Scale(low, high, LEFT, WIDTH - RIGHT, log)

    def upward(self, low: float, high: float, log: bool = False) -> Scale:
        """A vertical scale over the plot."""
        return Scale(low, high, HEIGHT - BOTTOM, TOP, log)

    def rows(self, scale: Scale, label: str, whole: bool = False) -> None:
        """The vertical axis: grid lines, numbers, a label."""
        for value in scale.ticks():
            if whole and value != int(value):
                continue
            y = scale(value)
            self.line((LEFT, y), (WIDTH - RIGHT, y), "grid")
            self.text(LEFT - 8, y + 4, number(value), "end")
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self.parts.append(
            f'<text class="axis" fill="{COLOURS["ink"]}" text-anchor="middle" '
            f'transform="translate(15 {middle:.0f}) rotate(-90)">{escape(label)}</text>'
        )

    def columns(self, positions: Sequence[tuple[float, str]], label: str) -> None:
        """The horizontal axis: a name below each position, thinned where they would collide."""
        room = (WIDTH - LEFT - RIGHT) / max(len(positions), 1)
        widest = max((len(name) for _, name in positions), default=1) * 7 + 8
        step = max(1, math.ceil(widest / room))
        shown = list(positions[::step])
        if shown and shown[-1] != positions[-1]:  # the last one may stand for all beyond it
            crowded = positions[-1][0] - shown[-1][0] < widest
            shown = [*(shown[:-1] if crowded else shown), positions[-1]]
        for x, name in shown:
            self.text(x, HEIGHT - BOTTOM + 18, name, "middle")
        y = HEIGHT - BOTTOM
        self.line((LEFT, y), (WIDTH - RIGHT, y), "base")
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, label, "middle", "axis")

    def bar(
        self, x: float, width: float, top: float, bottom: float, tip: str, strength: float = 1
    ) -> None:
        """A rectangle; `strength` below 1 is paler."""
        self.parts.append(
            f'<rect class="first" fill="{COLOURS["first"]}" fill-opacity="{strength:.2f}" '
            f'x="{x:.1f}" y="{top:.1f}" width="{max(width, 0.5):.1f}" '
            f'height="{max(bottom - top, 0):.1f}"><title>{escape(tip)}</title></rect>'
        )

    def dot(self, x: float, y: float, tip: str, kind: str = "first") -> None:
        """A marker."""
        self.parts.append(
            f'<circle class="{kind}" fill="{COLOURS[kind]}" cx="{x:.1f}" cy="{y:.1f}" r="4.5">'
            f"<title>{escape(tip)}</title></circle>"
        )

    def curve(self, points: Sequence[tuple[float, float]], kind: str, dashed: bool = False) -> None:
        """A line through `points`."""
        dashes = ' stroke-dasharray="6 4"' if dashed else ""
        self.parts.append(
            f'<polyline class="{kind}-line" fill="none" stroke="{COLOURS[kind]}" '
            f'stroke-width="2"{dashes} points="{_points(points)}"/>'
        )

    def area(self, points: Sequence[tuple[float, float]], kind: str, opacity: float = 0.2) -> None:
        """A filled outline."""
        self.parts.append(
            f'<polygon class="{kind}" fill="{COLOURS[kind]}" fill-opacity="{opacity}" '
            f'points="{_points(points)}"/>'
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], kind: str) -> None:
        """A thin straight line: `grid`, `base` or `mark`."""
        colour = COLOURS["grid" if kind == "grid" else "ink"]
        self.parts.append(
            f'<line class="{kind}" stroke="{colour}" x1="{start[0]:.1f}" y1="{start[1]:.1f}" '
            f'x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
        )

    def interval(self, x: float, low: float, high: float, kind: str) -> None:
        """A vertical line between two heights, in the colour of a series."""
        self.parts.append(
            f'<line class="{kind}-line" stroke="{COLOURS[kind]}" stroke-width="2" '
            f'x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}"/>'
        )

    def text(self, x: float, y: float, text: str, anchor: str, kind: str = "tick") -> None:
        """Words; `anchor` is start, middle or end."""
        self.parts.append(
            f'<text class="{kind}" fill="{COLOURS["ink"]}" text-anchor="{anchor}" '
            f'x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
        )

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        """Names of the series, by kind, above the plot."""
        x = float(LEFT + 6)
        for kind, name in entries:
            self.dot(x, 10, name, kind)
            self.text(x + 10, 14, name, "start")
            x += 40 + 7 * len(name)

    def begin(self, kind: str) -> None:
        """Open a group, such as one snapshot's shapes."""
        self.parts.append(f'<g class="{kind}">')

    def end(self) -> None:
        """Close the group."""
        self.parts.append("</g>")

    def finish(self) -> Markup:
        """The figure as an SVG element."""
        name = escape(self.name)
        return Markup(  # noqa: S704 - every part is a number or escaped
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="12" '
            f'aria-labelledby="{name}-title {name}-desc">'
            f'<title id="{name}-title">{escape(self.title)}</title>'
            f'<desc id="{name}-desc">{escape(self.description)}</desc>'
            f"{''.join(self.parts)}</svg>"
        )


def number(value: float) -> str:
    """A tick's name, short enough for its place; of 100,000 and more, a power of ten."""
    if value >= 1e5:
        digits, exponent = power(value).split(" × ")
        short = digits.rstrip("0").removesuffix(".")
        return exponent if short == "1" else f"{short} × {exponent}"
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def axis_top(highest: float) -> float:
    """Where an axis from 0 should end so that its last tick is not below `highest`."""
    ticks = _ticks(0, max(highest, 1), 6)
    step = ticks[1] - ticks[0]
    return math.ceil(max(highest, 1) / step - 1e-9) * step


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _ticks(low: float, high: float, most: int) -> list[float]:
    if high <= low:
        return [low]
    raw = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(f * magnitude for f in (1, 2, 5, 10) if f * magnitude >= raw)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 10) for index in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 of each decade; fine steps where less than a decade is shown."""
    if high / low < 4:
        return [value for value in _ticks(low, high, 6) if value > 0]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1,) if len(decades) > 6 else (1, 2, 5)
    ticks = [factor * 10.0**decade for decade in decades for factor in factors]
    return [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
