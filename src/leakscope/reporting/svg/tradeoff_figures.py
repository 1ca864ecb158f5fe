"""Figures that weigh privacy against use."""

from collections.abc import Sequence

from markupsafe import Markup

from leakscope.reporting.svg.axes import label_dots, named_ticks, padded
from leakscope.reporting.svg.canvas import Canvas, axis_top


def models_tradeoff(points: Sequence[tuple[str, float, int]]) -> Markup:
    """Unique sequences against validation accuracy; `points` are (name, share, unique), not empty.

    Better models are lower and further right.
    """
    canvas = Canvas(
        "tradeoff",
        "Unique sequences against validation accuracy",
        "; ".join(
            f"{name}: accuracy {100 * share:.1f} %, {unique} unique"
            for name, share, unique in points
        ),
    )
    shares = [100 * share for _, share, _ in points]
    room = max((max(shares) - min(shares)) * 0.12, 0.5)
    across = canvas.across(max(0.0, min(shares) - room), min(100.0, max(shares) + room))
    top = canvas.upward(0, axis_top(max(unique for _, _, unique in points)))
    canvas.rows(top, "unique sequences", whole=True)
    placed = [
        (name, across(percent), top(unique))
        for (name, _, unique), percent in zip(points, shares, strict=True)
    ]
    for (name, x, y), percent, (_, _, unique) in zip(placed, shares, points, strict=True):
        canvas.dot(x, y, f"{name}: {percent:.1f} %, {unique} unique")
    label_dots(canvas, [*placed[-1:], *placed[:-1]])
    canvas.columns(named_ticks(across), "validation accuracy (%)")
    return canvas.finish()


def hardening_curve(points: Sequence[tuple[str, float, int]], name: str, title: str) -> Markup:
    """Unique sequences left against validation accuracy along one curve of stricter interfaces;
    `points` are (setting, share, unique), from the strictest on, not empty.
    """
    canvas = Canvas(
        name,
        title,
        "; ".join(f"{label}: accuracy {100 * a:.1f} %, {u} unique" for label, a, u in points),
    )
    accuracies = [100 * accuracy for _, accuracy, _ in points]
    across = padded(canvas.across(min(accuracies), max(*accuracies, min(accuracies) + 0.1)))
    top = canvas.upward(0, axis_top(max(1, *(unique for *_, unique in points))))
    canvas.rows(top, "unique sequences left", whole=True)
    placed = [(label, across(100 * accuracy), top(unique)) for label, accuracy, unique in points]
    canvas.curve([(x, y) for _, x, y in placed], "first")
    for (label, x, y), (_, accuracy, unique) in zip(placed, points, strict=True):
        canvas.dot(x, y, f"{label}: accuracy {100 * accuracy:.2f} %, {unique} unique sequences")
    label_dots(canvas, placed)
    canvas.columns(named_ticks(across), "validation accuracy (%)")
    return canvas.finish()
