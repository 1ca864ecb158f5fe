"""The figures, each a function from plain numbers to an SVG element.

They are drawn here and not by plotly, which ships one bundle of 4.8 MB that every page would
have to carry; these take a few kilobytes and need no script.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from leakscope.reporting.svg.canvas import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Canvas,
    Scale,
    axis_top,
    number,
)

BINS = 24
MOST_LENGTHS = 30  # bars of one run's histogram; longer sequences share the last one
MOST_LENGTHS_COMPARED = 12

Values = Sequence[float] | npt.NDArray[np.float64]


def length_histogram(by_length: Mapping[int, int]) -> Markup:
    """How many unique sequences have each length; `by_length` has at least one."""
    canvas = Canvas(
        "lengths",
        "Lengths of the unique sequences",
        f"{sum(by_length.values())} unique sequences, from {min(by_length)} to "
        f"{max(by_length)} words long.",
    )
    names, counts = _gathered([by_length], MOST_LENGTHS)
    top = canvas.upward(0, axis_top(max(counts[0])))
    canvas.rows(top, "unique sequences", whole=True)
    slot = (WIDTH - LEFT - RIGHT) / len(names)
    for index, (name, value) in enumerate(zip(names, counts[0], strict=True)):
        x = LEFT + (index + 0.12) * slot
        tip = f"{name} words: {value}"
        canvas.bar(x, slot * 0.76, top(value), HEIGHT - BOTTOM, tip)
    _slot_names(canvas, names, "length in words")
    return canvas.finish()


def perplexity_histogram(values: Values) -> Markup:
    """How sure the model is of its unique sequences; at least one of `values` is finite."""
    finite = _finite(values)
    canvas = Canvas(
        "perplexities",
        "Perplexities of the unique sequences",
        f"Smallest perplexity of each of {len(finite)} unique sequences: half of them lie below "
        f"{float(np.median(finite)):.2f}.",
    )
    edges = _edges(finite)
    counts, _ = np.histogram(finite, edges)
    across = canvas.across(float(edges[0]), float(edges[-1]), log=True)
    top = canvas.upward(0, axis_top(int(counts.max())))
    canvas.rows(top, "unique sequences", whole=True)
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            left, right = across(float(low)), across(float(high))
            tip = f"perplexity {low:.2f} to {high:.2f}: {count}"
            canvas.bar(left + 0.5, right - left - 1, top(int(count)), HEIGHT - BOTTOM, tip)
    canvas.columns(_named(across), "perplexity (logarithmic)")
    return canvas.finish()


def perplexity_curves(
    epochs: Sequence[float],
    train: Sequence[float | None],
    interval: Sequence[tuple[float, float] | None],
    validation: Sequence[float | None],
) -> Markup:
    """Figure 5a: perplexity by epoch, on training data with its interval and on validation data.

    All are aligned; at least one perplexity is known.
    """
    known = [value for value in (*train, *validation) if value is not None]
    known += [end for ends in interval if ends is not None for end in ends]
    canvas = Canvas(
        "curves",
        "Train and validation perplexity",
        f"Perplexities of {len(epochs)} snapshots by epoch: "
        + "; ".join(
            f"epoch {number(epoch)}: train {_or_dash(a)}, validation {_or_dash(b)}"
            for epoch, a, b in zip(epochs, train, validation, strict=True)
        ),
    )
    across = _padded(canvas.across(min(epochs), max(epochs)))
    top = canvas.upward(min(known) / 1.1, max(known) * 1.1, log=True)
    canvas.rows(top, "perplexity (logarithmic)")
    band = [(across(e), ends) for e, ends in zip(epochs, interval, strict=True) if ends]
    if band:
        outline = [(x, top(low)) for x, (low, _) in band]
        outline += [(x, top(high)) for x, (_, high) in reversed(band)]
        canvas.area(outline, "first")
    for kind, name, series in (("first", "train", train), ("second", "validation", validation)):
        points = [
            (across(e), top(value), e, value)
            for e, value in zip(epochs, series, strict=True)
            if value is not None
        ]
        canvas.curve([(x, y) for x, y, _, _ in points], kind, dashed=kind == "second")
        for x, y, epoch, value in points:
            canvas.dot(x, y, f"epoch {number(epoch)}, {name}: {value:.2f}", kind)
    canvas.legend(
        [("first", "train, 95 % interval" if band else "train"), ("second", "validation")]
    )
    canvas.columns([(across(e), number(e)) for e in epochs], "epoch")
    return canvas.finish()


def lengths_by_snapshot(names: Sequence[str], by_length: Sequence[Mapping[int, int]]) -> Markup:
    """Figure 5b: for each length one bar a snapshot, stronger from snapshot to snapshot.

    At least one snapshot has a unique sequence.
    """
    canvas = Canvas(
        "lengths-by-snapshot",
        "Lengths of the unique sequences by snapshot",
        "Unique sequences of each snapshot: "
        + "; ".join(
            f"{name}: {sum(counts.values())}" for name, counts in zip(names, by_length, strict=True)
        ),
    )
    lengths, table = _gathered(by_length, MOST_LENGTHS_COMPARED)
    top = canvas.upward(0, axis_top(max(max(row) for row in table)))
    canvas.rows(top, "unique sequences", whole=True)
    slot = (WIDTH - LEFT - RIGHT) / len(lengths)
    width = slot * 0.84 / len(names)
    for index, (name, row) in enumerate(zip(names, table, strict=True)):
        canvas.begin("snapshot")
        strength = _strength(index, len(names))
        for place, (length, value) in enumerate(zip(lengths, row, strict=True)):
            x = LEFT + place * slot + slot * 0.08 + index * width
            if value:
                tip = f"{name}, {length} words: {value}"
                canvas.bar(x, width * 0.92, top(value), HEIGHT - BOTTOM, tip, strength)
        canvas.end()
    _slot_names(canvas, lengths, "length in words")
    _ramp(canvas, names)
    return canvas.finish()


def perplexities_by_snapshot(names: Sequence[str], values: Sequence[Values]) -> Markup:
    """Figure 5c: a column a snapshot whose width is proportional to the number of unique sequences
    at that perplexity, on one scale for all; a line marks the median.

    At least one value is finite.
    """
    columns = [_finite(of_one) for of_one in values]
    canvas = Canvas(
        "perplexities-by-snapshot",
        "Perplexities of the unique sequences by snapshot",
        "Median of the smallest perplexities of each snapshot's unique sequences: "
        + "; ".join(
            f"{name}: {float(np.median(column)):.2f}" if len(column) else f"{name}: no sequences"
            for name, column in zip(names, columns, strict=True)
        ),
    )
    edges = _edges(np.concatenate(columns))
    counts = [np.histogram(column, edges)[0] for column in columns]
    widest = max(int(row.max()) for row in counts)
    top = canvas.upward(float(edges[0]), float(edges[-1]), log=True)
    canvas.rows(top, "perplexity (logarithmic)")
    slot = (WIDTH - LEFT - RIGHT) / len(names)
    for index, (name, column, row) in enumerate(zip(names, columns, counts, strict=True)):
        middle = LEFT + (index + 0.5) * slot
        canvas.begin("snapshot")
        for low, high, count in zip(edges[:-1], edges[1:], row, strict=True):
            if count:
                width = slot * 0.9 * int(count) / widest
                tip = f"{name}, perplexity {low:.2f} to {high:.2f}: {count}"
                canvas.bar(middle - width / 2, width, top(float(high)) + 0.5, top(float(low)), tip)
        if len(column):
            y = top(float(np.median(column)))
            canvas.line((middle - slot * 0.3, y), (middle + slot * 0.3, y), "mark")
        canvas.end()
    _slot_names(canvas, names, "snapshot (epoch)")
    return canvas.finish()


def tradeoff(points: Sequence[tuple[str, float, int]]) -> Markup:
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
    _label(canvas, [*placed[-1:], *placed[:-1]])
    canvas.columns(_named(across), "validation accuracy (%)")
    return canvas.finish()


def spread_over_users(numbers: Sequence[int], users: int) -> Markup:
    """Which share of the unique sequences the most exposed users own; `numbers` are those of the
    users who own any, most first, at least one, out of `users` in all.
    """
    shares = np.cumsum(numbers) / np.sum(numbers)
    half = int(np.searchsorted(shares, 0.5)) + 1
    canvas = Canvas(
        "spread",
        "How leakage is spread over users",
        f"{len(numbers)} of {users} users own all unique sequences; the {half} most exposed own "
        f"half of them.",
    )
    across, top = canvas.across(0, len(numbers)), canvas.upward(0, 1)
    canvas.rows(top, "share of unique sequences")
    points = [(across(0), top(0.0))]
    step = max(1, len(numbers) // 200)
    points += [(across(i + 1), top(float(shares[i]))) for i in range(0, len(numbers), step)]
    points.append((across(len(numbers)), top(1.0)))
    canvas.area([*points, (across(len(numbers)), top(0.0))], "first")
    canvas.curve(points, "first")
    canvas.dot(across(half), top(float(shares[half - 1])), f"{half} users own half")
    canvas.columns(_named(across), "users with unique sequences, most exposed first")
    return canvas.finish()


def hardening(points: Sequence[tuple[str, float, int]], name: str, title: str) -> Markup:
    """Unique sequences left against validation accuracy along one curve of stricter interfaces;
    `points` are (setting, share, unique), from the strictest on, not empty.
    """
    canvas = Canvas(
        name,
        title,
        "; ".join(f"{label}: accuracy {100 * a:.1f} %, {u} unique" for label, a, u in points),
    )
    accuracies = [100 * accuracy for _, accuracy, _ in points]
    across = _padded(canvas.across(min(accuracies), max(*accuracies, min(accuracies) + 0.1)))
    top = canvas.upward(0, axis_top(max(1, *(unique for *_, unique in points))))
    canvas.rows(top, "unique sequences left", whole=True)
    placed = [(label, across(100 * accuracy), top(unique)) for label, accuracy, unique in points]
    canvas.curve([(x, y) for _, x, y in placed], "first")
    for (label, x, y), (_, accuracy, unique) in zip(placed, points, strict=True):
        canvas.dot(x, y, f"{label}: accuracy {100 * accuracy:.2f} %, {unique} unique sequences")
    _label(canvas, placed)
    canvas.columns(_named(across), "validation accuracy (%)")
    return canvas.finish()


def _gathered(several: Sequence[Mapping[int, int]], most: int) -> tuple[list[str], list[list[int]]]:
    """Names of the lengths from the least to the greatest, and each one's counts by them.

    Beyond `most` lengths, all longer sequences are counted together.
    """
    present = {length for one in several for length in one}
    low, high = min(present), max(present)
    last = min(high, low + most - 1)
    names = [str(length) for length in range(low, last + 1)]
    if last < high:
        names[-1] = f"{last}+"
    table = [
        [one.get(length, 0) for length in range(low, last)]
        + [sum(count for length, count in one.items() if length >= last)]
        for one in several
    ]
    return names, table


def _edges(finite: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Edges of logarithmic bins from 1, which no perplexity undercuts, to the greatest value."""
    high = max(float(finite.max()) * 1.0001, 1.5)
    low = min(1.0, float(finite.min()))
    edges = np.geomspace(low, high, BINS + 1)
    edges[0], edges[-1] = low, high
    return edges


def _finite(values: Values) -> npt.NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array) & (array > 0)]


def _padded(scale: Scale) -> Scale:
    """The same scale, with room for a marker at both ends."""
    return Scale(scale.low, scale.high, scale.start + 24, scale.end - 24, scale.log)


def _named(scale: Scale) -> list[tuple[float, str]]:
    return [(scale(value), number(value)) for value in scale.ticks()]


def _label(canvas: Canvas, placed: Sequence[tuple[str, float, float]]) -> None:
    """Name the dots, earlier ones first; a name that would cover another is left to its tip."""
    taken: list[tuple[float, float]] = []
    for name, x, y in placed:
        before = x > (LEFT + WIDTH - RIGHT) / 2
        at_x, at_y = x + (-7 if before else 7), y - 5
        if all(abs(at_x - a) > 90 or abs(at_y - b) > 13 for a, b in taken):
            taken.append((at_x, at_y))
            short = name if len(name) <= 28 else name[:27] + "…"
            canvas.text(at_x, at_y, short, "end" if before else "start")


def _slot_names(canvas: Canvas, names: Sequence[str], label: str) -> None:
    slot = (WIDTH - LEFT - RIGHT) / len(names)
    canvas.columns([(LEFT + (i + 0.5) * slot, name) for i, name in enumerate(names)], label)


def _ramp(canvas: Canvas, names: Sequence[str]) -> None:
    """A key to the strengths: first and last snapshot at the ends of a row of swatches."""
    shown = min(len(names), 12)
    first = f"epoch {names[0]}"
    canvas.text(LEFT, 14, first, "start")
    left = LEFT + 7 * len(first) + 6
    for place in range(shown):
        index = 0 if shown == 1 else math.floor(place * (len(names) - 1) / (shown - 1))
        canvas.bar(left + 16 * place, 15, 5, 15, names[index], _strength(index, len(names)))
    canvas.text(left + 16 * shown + 6, 14, names[-1], "start")


def _strength(index: int, count: int) -> float:
    """How strong the colour of snapshot `index` of `count` is; the last one's is full."""
    return 1.0 if count == 1 else 0.18 + 0.82 * index / (count - 1)


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
