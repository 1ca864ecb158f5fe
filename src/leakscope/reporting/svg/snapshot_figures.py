"""Figures of one training's snapshots: Figure 5 of Inan et al. (2021)."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from leakscope.reporting.svg.axes import (
    Values,
    finite,
    gathered_lengths,
    padded,
    perplexity_edges,
    slot_names,
)
from leakscope.reporting.svg.canvas import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Canvas,
    axis_top,
    number,
)

MOST_LENGTHS_COMPARED = 12


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
    across = padded(canvas.across(min(epochs), max(epochs)))
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
    lengths, table = gathered_lengths(by_length, MOST_LENGTHS_COMPARED)
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
    slot_names(canvas, lengths, "length in words")
    _ramp(canvas, names)
    return canvas.finish()


def perplexities_by_snapshot(names: Sequence[str], values: Sequence[Values]) -> Markup:
    """Figure 5c: a column a snapshot whose width is proportional to the number of unique sequences
    at that perplexity, on one scale for all; a line marks the median.

    At least one value is finite.
    """
    columns = [finite(of_one) for of_one in values]
    canvas = Canvas(
        "perplexities-by-snapshot",
        "Perplexities of the unique sequences by snapshot",
        "Median of the smallest perplexities of each snapshot's unique sequences: "
        + "; ".join(
            f"{name}: {float(np.median(column)):.2f}" if len(column) else f"{name}: no sequences"
            for name, column in zip(names, columns, strict=True)
        ),
    )
    edges = perplexity_edges(np.concatenate(columns))
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
    slot_names(canvas, names, "snapshot (epoch)")
    return canvas.finish()


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
