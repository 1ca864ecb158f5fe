"""MinHash with locality-sensitive hashing: which documents may be near-duplicates.

Two documents agree in one MinHash with a chance equal to the Jaccard similarity of their shingle
sets (Broder 1997); they are candidates when they agree in all hashes of some band.
"""

import numpy as np
import numpy.typing as npt

from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of
from leakscope.records.splitmix import scrambled

HASHES = 128
RECALL = 0.995
"""The least chance of finding a pair that lies exactly on the threshold."""
_BATCH_WORDS = 1 << 20

Words64 = npt.NDArray[np.uint64]


def bands_for(threshold: float, hashes: int = HASHES) -> tuple[int, int]:
    """(bands, rows) with the most rows, hence the fewest false candidates, that keep RECALL."""
    for rows in range(hashes, 1, -1):
        bands = hashes // rows
        if 1 - (1 - threshold**rows) ** bands >= RECALL:
            return bands, rows
    return hashes, 1


def band_keys(
    ids: IntArray, offsets: LongArray, *, shingle: int, threshold: float, seed: int
) -> Words64:
    """[documents, bands] a key for each band of each document; equal keys make candidates.

    Document i holds ids[offsets[i] : offsets[i + 1]], at least one; a document shorter than
    `shingle` words is one shingle as a whole. This takes about 8 bytes per band and document.
    """
    bands, rows = bands_for(threshold)
    draw = np.random.default_rng(seed)
    # Multiply-shift: odd factors, the upper half of the product.
    factors = draw.integers(0, 1 << 63, HASHES, np.uint64) * np.uint64(2) + np.uint64(1)
    shifts = draw.integers(0, 1 << 63, HASHES, np.uint64)
    keys = np.empty((len(offsets) - 1, bands), np.uint64)
    start = 0
    while start < len(keys):
        limit = offsets[start] + _BATCH_WORDS
        stop = max(start + 1, int(np.searchsorted(offsets, limit, side="right")) - 1)
        part = ids[offsets[start] : offsets[stop]]
        hashed, begins = _shingles(part, offsets[start : stop + 1] - offsets[start], shingle)
        for band in range(bands):
            key = np.zeros(stop - start, np.uint64)
            for row in range(band * rows, (band + 1) * rows):
                values = (hashed * factors[row] + shifts[row]) >> np.uint64(32)
                key = scrambled(key ^ np.minimum.reduceat(values, begins))
            keys[start:stop, band] = key
        start = stop
    return keys


def _shingles(ids: IntArray, offsets: LongArray, shingle: int) -> tuple[Words64, LongArray]:
    """The hash of each shingle of all documents, and where those of each document begin."""
    lengths = np.diff(offsets)
    counts = np.maximum(lengths - shingle + 1, 1)
    first = places_of(offsets[:-1], counts)
    ends = np.repeat(offsets[1:], counts)
    mixed = scrambled(ids.astype(np.uint64))
    hashed = np.zeros(len(first), np.uint64)
    for place in range(shingle):
        at = first + place
        inside = at < ends
        # Each place is mixed in after the last, so that order counts.
        word = mixed[np.minimum(at, len(ids) - 1)]
        hashed = np.where(inside, scrambled(hashed ^ word), hashed)
    return hashed, offsets_of(counts)[:-1]
