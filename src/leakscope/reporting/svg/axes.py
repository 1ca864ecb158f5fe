"""What figures share: bins, scales with room, names of ticks, slots and dots."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from leakscope.reporting.svg.canvas import LEFT, RIGHT, WIDTH, Canvas, Scale, number

BINS = 24

Values = Sequence[float] | npt.NDArray[np.float64]


def gathered_lengths(
    several: Sequence[Mapping[int, int]], most: int
) -> tuple[list[str], list[list[int]]]:
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


def perplexity_edges(finite: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Edges of logarithmic bins from 1, which no perplexity undercuts, to the greatest value."""
    high = max(float(finite.max()) * 1.0001, 1.5)
    low = min(1.0, float(finite.min()))
    edges = np.geomspace(low, high, BINS + 1)
    edges[0], edges[-1] = low, high
    return edges


def finite(values: Values) -> npt.NDArray[np.float64]:
    """Those values that can be drawn on a logarithmic scale."""
    array = np.asarray(values, np.float64)
    return array[np.isfinite(array) & (array > 0)]


def padded(scale: Scale) -> Scale:
    """The same scale, with room for a marker at both ends."""
    return Scale(scale.low, scale.high, scale.start + 24, scale.end - 24, scale.log)


def named_ticks(scale: Scale) -> list[tuple[float, str]]:
    """(position, name) of the ticks of a scale."""
    return [(scale(value), number(value)) for value in scale.ticks()]


def label_dots(canvas: Canvas, placed: Sequence[tuple[str, float, float]]) -> None:
    """Name the dots, earlier ones first; a name that would cover another is left to its tip."""
    taken: list[tuple[float, float]] = []
    for name, x, y in placed:
        before = x > (LEFT + WIDTH - RIGHT) / 2
        at_x, at_y = x + (-7 if before else 7), y - 5
        if all(abs(at_x - a) > 90 or abs(at_y - b) > 13 for a, b in taken):
            taken.append((at_x, at_y))
            short = name if len(name) <= 28 else name[:27] + "…"
            canvas.text(at_x, at_y, short, "end" if before else "start")


def slot_names(canvas: Canvas, names: Sequence[str], label: str) -> None:
    """Name the equal slots that the width is divided into."""
    slot = (WIDTH - LEFT - RIGHT) / len(names)
    canvas.columns([(LEFT + (i + 0.5) * slot, name) for i, name in enumerate(names)], label)
