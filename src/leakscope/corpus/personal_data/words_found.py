"""Which words of a text are personal data."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.personal_data.kinds import find_pii
from leakscope.corpus.personal_data.text_windows import WINDOW, Text, TextWindow, windows
from leakscope.records.documents import IntArray, LongArray


@dataclass(frozen=True)
class _WordsFound:
    """Findings in a stretch of a text, in their order: finding i overlaps with the words
    first[i] to last[i] - 1 of the text.
    """

    first: LongArray
    last: LongArray
    kinds: list[str]

    def shown(self, starts: IntArray, stops: LongArray) -> Iterator[tuple[int, set[str]]]:
        """(i, kinds) of those of the runs of words starts[i] to stops[i] - 1 that overlap with a
        finding.
        """
        low = np.searchsorted(self.last, starts, "right")
        high = np.searchsorted(self.first, stops, "left")
        for row in np.flatnonzero(high > low).tolist():
            yield row, set(self.kinds[low[row] : high[row]])


def kinds_shown(
    text: Text,
    starts: IntArray,
    stops: LongArray,
    phone_region: str | None = None,
    *,
    size: int = WINDOW,
) -> Iterator[tuple[int, str]]:
    """(i, kind) for each kind that a run of words shows a word of, perhaps several times. Run i has
    the words starts[i] to stops[i] - 1 of the text, and none begins before the one before it has
    ended. `size`: bytes of a window.
    """
    for window in windows(text, size=size):
        reach = window.first_word + len(window.edges)
        low = int(np.searchsorted(stops, window.first_word, "right"))
        high = int(np.searchsorted(starts, reach, "left"))
        if low < high:
            found = _found(window, phone_region)
            for row, kinds in found.shown(starts[low:high], stops[low:high]):
                for kind in kinds:
                    yield low + row, kind


def _found(window: TextWindow, phone_region: str | None) -> _WordsFound:
    findings = [
        finding
        for finding in find_pii(window.text, phone_region=phone_region)
        if window.start <= finding.start < window.stop
    ]
    edges = np.array(window.edges, np.int64).reshape(-1, 2)
    begins = np.array([finding.start for finding in findings], np.int64)
    ends = np.array([finding.end for finding in findings], np.int64)
    return _WordsFound(
        window.first_word + np.searchsorted(edges[:, 1], begins, "right"),
        window.first_word + np.searchsorted(edges[:, 0], ends, "left"),
        [finding.kind for finding in findings],
    )
