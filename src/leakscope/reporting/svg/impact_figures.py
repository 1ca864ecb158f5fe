"""The figure of disparate impact: the drop in use over all users."""

from collections.abc import Sequence

from markupsafe import Markup

from leakscope.reporting.svg.axes import padded
from leakscope.reporting.svg.canvas import Canvas, number

MOST_POINTS = 60
"""Users are gathered where there are more."""

Point = tuple[str, float, float | None, float | None]
"""Name, drop, and the ends of its interval."""


def impact_curve(name: str, title: str, points: Sequence[Point]) -> Markup:
    """Rise in perplexity by users, from those with the fewest training documents on; at least one
    point. Bars are intervals.
    """
    canvas = Canvas(
        name,
        title,
        "Rise in perplexity against the plain model: "
        + "; ".join(f"{who}: {drop:+.2f}" for who, drop, _, _ in points),
    )
    ends = [end for _, drop, low, high in points for end in (drop, low, high) if end is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = max((high - low) * 0.05, 0.05)
    top = canvas.upward(low - room, high + room)
    across = padded(canvas.across(0, max(len(points) - 1, 1)))
    canvas.rows(top, "rise in perplexity")
    canvas.line((across.start, top(0)), (across.end, top(0)), "base")
    canvas.curve([(across(at), top(drop)) for at, (_, drop, _, _) in enumerate(points)], "first")
    for at, (who, drop, lower, upper) in enumerate(points):
        said = f"{who}: {drop:+.2f}"
        if lower is not None and upper is not None:
            canvas.line((across(at), top(lower)), (across(at), top(upper)), "mark")
            said += f" ({lower:+.2f} to {upper:+.2f})"
        canvas.dot(across(at), top(drop), said)
    canvas.columns(
        [(across(0), "fewest"), (across(len(points) - 1), "most")]
        if len(points) > 1
        else [(across(0), number(1))],
        "users by training documents",
    )
    return canvas.finish()
