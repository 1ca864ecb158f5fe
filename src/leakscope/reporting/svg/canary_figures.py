"""Figures about canaries: what repetition does to exposure, and to reconstruction."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from leakscope.reporting.svg.axes import padded
from leakscope.reporting.svg.canvas import SERIES, Canvas, axis_top

APART = 4
"""Pixels between series, so that none hides another."""


class PointWithInterval(NamedTuple):
    """A value at a number of repetitions, with the ends of its interval if there are some."""

    repetitions: int
    value: float
    low: float | None
    high: float | None


def by_repetitions(
    name: str,
    title: str,
    label: str,
    series: Sequence[tuple[str, Sequence[PointWithInterval]]],
    top: float | None = None,
) -> Markup:
    """Values over repetitions on a logarithmic scale, one curve for each of at most six
    series. Some may be empty, not all: they keep their colours. `top` is where the vertical axis
    ends at least.
    """
    kinds = SERIES
    told = "; ".join(
        f"{which}: " + ", ".join(f"{p.repetitions} times {p.value:.2f}" for p in points)
        for which, points in series
        if points
    )
    canvas = Canvas(name, title, told)
    every = [point for _, points in series for point in points]
    counts = sorted({max(point.repetitions, 1) for point in every})
    across = padded(canvas.across(counts[0], max(counts[-1], counts[0] + 1), log=True))
    high = max(point.high if point.high is not None else point.value for point in every)
    upward = canvas.upward(0, axis_top(max(high, top or 0.0)))
    canvas.rows(upward, label)
    for place, (kind, (which, points)) in enumerate(zip(kinds, series, strict=False)):
        aside = APART * (place - (len(series) - 1) / 2)
        placed = [(across(max(p.repetitions, 1)) + aside, upward(p.value)) for p in points]
        if placed:
            canvas.curve(placed, kind, dashed=place % 2 == 1)
        for point, (x, y) in zip(points, placed, strict=True):
            if point.low is not None and point.high is not None:
                canvas.interval(x, upward(point.low), upward(point.high), kind)
            tip = f"{which}, {point.repetitions} repetitions: {point.value:.2f}"
            canvas.dot(x, y, tip, kind)
    shown = zip(kinds, series, strict=False)
    canvas.legend([(kind, which) for kind, (which, points) in shown if points])
    canvas.columns([(across(count), str(count)) for count in counts], "repetitions")
    return canvas.finish()
