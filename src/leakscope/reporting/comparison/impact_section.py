"""Disparate impact as `compare` tells it: rows of a table, a figure for each model, plain data."""

from typing import Any

import numpy as np

from leakscope.reporting.comparison.disparate_impact import Comparison, Drop, Impact
from leakscope.reporting.facts import values
from leakscope.reporting.svg.impact_figures import MOST_POINTS, Point, impact_curve

READING = (
    "Rise in perplexity per word against the plain model, on the same validation documents; a mean "
    "over users, each of whom counts alike, with the 95% interval over documents. A positive gap "
    "says that those who wrote least pay most."
)


def columns(size: int) -> list[str]:
    """The table's columns after the model's name."""
    return [
        f"{size} users with most documents", f"{size} with fewest", "Gap", "All users",
        "Users measured", "Without validation words",
    ]  # fmt: skip


def table_rows(found: Comparison, size: int) -> list[tuple[str, list[str]]]:
    """(model, cells) for each impact."""
    rows = []
    for each in found.impacts:
        drops = [*_groups(each, size), each.gap(size), each.over(np.arange(len(each.users)))]
        counts = [values.thousands(number) for number in (len(each.users), each.absent)]
        rows.append((each.name, [*map(told, drops), *counts]))
    return rows


def notes(found: Comparison, size: int) -> list[str]:
    """What else a reader must know, a sentence each."""
    lines = []
    if any(drop.low is None for each in found.impacts for drop in _all(each, size)):
        lines.append(
            "Where there is no interval, a user has a single validation document, which says "
            "nothing of how that user's documents vary."
        )
    fewer = {len(each.groups(size)[0]) for each in found.impacts} - {size}
    if fewer:
        lines.append(f"There are too few users for groups of {size}; groups have {min(fewer)}.")
    if found.unmeasured:
        lines.append(
            f"Not measured, since the run does not tell what single documents cost: "
            f"{', '.join(found.unmeasured)}."
        )
    return lines


def figures(found: Comparison) -> list[tuple[str, str, Any]]:
    """(title, how to read it, drawing) for each model: the whole curve over users."""
    drawn = []
    for index, each in enumerate(found.impacts):
        title = f"Disparate impact of {values.printable(each.name)}"
        points = curve(each)
        few = len(points) == len(each.users)
        reading = (
            f"Each point is {'one user' if few else 'a group of users'}; a line through a point is "
            f"its interval."
        )
        drawn.append((title, reading, impact_curve(f"impact-{index}", title, points)))
    return drawn


def curve(each: Impact) -> list[Point]:
    """Points of the curve over users; users with like numbers of documents are gathered where there
    are many.
    """
    parts = np.array_split(np.arange(len(each.users)), min(MOST_POINTS, len(each.users)))
    points = []
    for part in parts:
        drop = each.over(part)
        low, high = int(each.documents[part[0]]), int(each.documents[part[-1]])
        many = f"{low}" if low == high else f"{low} to {high}"
        who = "1 user" if len(part) == 1 else f"{len(part)} users"
        points.append((f"{who}, {many} documents", drop.value, drop.low, drop.high))
    return points


def plain(found: Comparison, size: int) -> dict[str, Any]:
    """For `compare.json`."""
    return {
        "baseline": found.baseline,
        "group_users": size,
        "unmeasured": found.unmeasured,
        "runs": [_plain_impact(each, size) for each in found.impacts],
    }


def told(drop: Drop) -> str:
    """A drop as the table shows it."""
    if not np.isfinite(drop.value):
        return values.ABSENT
    if drop.low is None or drop.high is None:
        return f"{drop.value:+,.2f}"
    return f"{drop.value:+,.2f} ({drop.low:+,.2f} to {drop.high:+,.2f})"


def _plain_impact(each: Impact, size: int) -> dict[str, Any]:
    most, fewest = _groups(each, size)
    alone = [each.over(np.array([place])) for place in range(len(each.users))]
    return {
        "name": each.name,
        "users": len(each.users),
        "absent_users": each.absent,
        "most": _plain_drop(most),
        "fewest": _plain_drop(fewest),
        "gap": _plain_drop(each.gap(size)),
        "all": _plain_drop(each.over(np.arange(len(each.users)))),
        "by_user": [
            {"user": int(user), "documents": int(documents), **_plain_drop(drop)}
            for user, documents, drop in zip(each.users, each.documents, alone, strict=True)
        ],
    }


def _plain_drop(drop: Drop) -> dict[str, Any]:
    known = [drop.value, drop.low, drop.high]
    value, low, high = (None if end is None or not np.isfinite(end) else end for end in known)
    return {"drop": value, "low": low, "high": high}


def _groups(each: Impact, size: int) -> tuple[Drop, Drop]:
    most, fewest = each.groups(size)
    return each.over(most), each.over(fewest)


def _all(each: Impact, size: int) -> list[Drop]:
    return [*_groups(each, size), each.gap(size), each.over(np.arange(len(each.users)))]
