"""Figures of one run: lengths, perplexities and owners of its unique sequences."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from leakscope.reporting.facts.values import rounded
from leakscope.reporting.svg.axes import (
    Values,
    finite,
    gathered_lengths,
    named_ticks,
    padded,
    perplexity_edges,
    slot_names,
)
from leakscope.reporting.svg.canvas import BOTTOM, HEIGHT, LEFT, RIGHT, WIDTH, Canvas, axis_top

MOST_LENGTHS = 30  # bars of the histogram; longer sequences share the last one


def length_histogram(
    by_length: Mapping[int, int], chance: Mapping[int, float] | None = None
) -> Markup:
    """How many unique sequences have each length; `by_length` has at least one. `chance`: how many
    a model without memory would show.
    """
    canvas = Canvas(
        "lengths",
        "Lengths of the unique sequences",
        f"{sum(by_length.values())} unique sequences, from {min(by_length)} to "
        f"{max(by_length)} words long.",
    )
    names, counts = gathered_lengths([by_length], MOST_LENGTHS)
    top = canvas.upward(0, axis_top(max(counts[0])))
    canvas.rows(top, "unique sequences", whole=True)
    slot = (WIDTH - LEFT - RIGHT) / len(names)
    for index, (name, value) in enumerate(zip(names, counts[0], strict=True)):
        x = LEFT + (index + 0.12) * slot
        tip = f"{name} words: {value}"
        canvas.bar(x, slot * 0.76, top(value), HEIGHT - BOTTOM, tip)
    if chance:
        expected = [_by_chance(chance, name) for name in names]
        points = [
            (LEFT + (index + 0.5) * slot, top(min(each, top.high)))
            for index, each in enumerate(expected)
        ]
        canvas.curve(points, "second")
        for (x, y), each, name in zip(points, expected, names, strict=True):
            canvas.dot(x, y, f"{name} words: {each:.1f} by chance", "second")
        canvas.legend([("first", "unique sequences"), ("second", "by chance")])
    slot_names(canvas, names, "length in words")
    return canvas.finish()


def _by_chance(chance: Mapping[int, float], name: str) -> float:
    """Of a slot of the histogram, which may hold all greater lengths."""
    first = int(name.removesuffix("+"))
    last = max(chance) if name.endswith("+") else first
    return sum(value for length, value in chance.items() if first <= length <= last)


def epsilon_by_length(largest: Mapping[int, float]) -> Markup:
    """The largest ratio of each length, of which there is at least one."""
    known = {n: value for n, value in sorted(largest.items()) if value > 0}
    worst = max(known, key=known.__getitem__)
    canvas = Canvas(
        "epsilon",
        "Leakage epsilon by length",
        f"The largest ratio is {rounded(known[worst])}, of {worst} words.",
    )
    across = padded(canvas.across(min(known), max(known)))
    top = canvas.upward(min(1.0, *known.values()), max(2.0, *known.values()) * 1.2, log=True)
    canvas.rows(top, "largest ratio (logarithmic)")
    canvas.curve([(across(n), top(value)) for n, value in known.items()], "first")
    for n, value in known.items():
        canvas.dot(across(n), top(value), f"{n} words: {rounded(value)}")
    canvas.columns(named_ticks(across), "length in words")
    return canvas.finish()


def perplexity_histogram(values: Values) -> Markup:
    """How sure the model is of its unique sequences; at least one of `values` is finite."""
    known = finite(values)
    canvas = Canvas(
        "perplexities",
        "Perplexities of the unique sequences",
        f"Smallest perplexity of each of {len(known)} unique sequences: half of them lie below "
        f"{float(np.median(known)):.2f}.",
    )
    edges = perplexity_edges(known)
    counts, _ = np.histogram(known, edges)
    across = canvas.across(float(edges[0]), float(edges[-1]), log=True)
    top = canvas.upward(0, axis_top(int(counts.max())))
    canvas.rows(top, "unique sequences", whole=True)
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            left, right = across(float(low)), across(float(high))
            tip = f"perplexity {low:.2f} to {high:.2f}: {count}"
            canvas.bar(left + 0.5, right - left - 1, top(int(count)), HEIGHT - BOTTOM, tip)
    canvas.columns(named_ticks(across), "perplexity (logarithmic)")
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
    canvas.columns(named_ticks(across), "users with unique sequences, most exposed first")
    return canvas.finish()
