"""Figures that set groups side by side, such as trainings: a marker for each series in each."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from leakscope.reporting.svg.axes import padded
from leakscope.reporting.svg.canvas import SERIES, Canvas, axis_top

GAP = 16
"""Pixels between the markers of one group."""


class GroupValue(NamedTuple):
    """A value of one series in one group; None: not measured, and nothing is drawn."""

    value: float | None
    low: float | None = None
    high: float | None = None


def by_group(
    name: str,
    title: str,
    label: str,
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[GroupValue]]],
    top: float | None = None,
    below: str = "training",
) -> Markup:
    """Values of at most six series, one in each group; at least one value is there. `top` is where
    the vertical axis ends at least, `below` what the groups are.
    """
    told = "; ".join(
        f"{which}: "
        + ", ".join(_told(group, each) for group, each in zip(groups, all_, strict=True))
        for which, all_ in series
    )
    canvas = Canvas(name, title, told)
    ends = [end for _, all_ in series for each in all_ for end in each if end is not None]
    low = min(0.0, *ends)
    high = axis_top(max(*ends, top or 0.0)) if low == 0 else max(0.0, *ends)
    upward = canvas.upward(low - (0.05 * (high - low) if low else 0), high)
    canvas.rows(upward, label)
    across = padded(canvas.across(0, max(len(groups) - 1, 1)))
    canvas.line((across.start - 24, upward(0)), (across.end + 24, upward(0)), "base")
    for at, (which, all_) in enumerate(series):
        for place, (group, each) in enumerate(zip(groups, all_, strict=True)):
            if each.value is None:
                continue
            x = across(place) + GAP * (at - (len(series) - 1) / 2)
            if each.low is not None and each.high is not None:
                canvas.interval(x, upward(each.low), upward(each.high), SERIES[at])
            canvas.dot(x, upward(each.value), f"{which}, {_told(group, each)}", SERIES[at])
    canvas.legend([(SERIES[at], which) for at, (which, _) in enumerate(series)])
    canvas.columns([(across(place), group) for place, group in enumerate(groups)], below)
    return canvas.finish()


def _told(group: str, each: GroupValue) -> str:
    return f"{group} " + ("not measured" if each.value is None else f"{each.value:.2f}")
