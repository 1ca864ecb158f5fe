"""Ragged arrays against plain loops over rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.records import ragged
from leakscope.records.ragged import offsets_of, places_of, row_sums, rows_at, within_rows

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=6), max_size=8)
KINDS = st.sampled_from([np.int32, np.int64])


def flat(rows: list[list[int]]) -> np.ndarray:
    return np.array([value for row in rows for value in row], np.int64)


@given(ROWS, KINDS)
def test_offsets_are_where_rows_begin_and_end(rows, kind):
    offsets = offsets_of(np.array([len(row) for row in rows], kind))
    values = flat(rows)
    assert offsets.dtype == np.int64
    assert [values[a:b].tolist() for a, b in pairwise(offsets)] == rows


@given(st.lists(st.booleans(), max_size=9))
def test_offsets_of_booleans_count_what_was_true_so_far(flags):
    found = offsets_of(np.array(flags, np.bool_))
    assert found.tolist() == [sum(flags[:n]) for n in range(len(flags) + 1)]


@given(ROWS, KINDS)
def test_places_within_rows(rows, kind):
    found = within_rows(np.array([len(row) for row in rows], kind))
    assert found.dtype == np.int64
    assert found.tolist() == [at for row in rows for at in range(len(row))]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=8), KINDS)
def test_places_from_starts(parts, kind):
    starts = np.array([start for start, _ in parts], kind)
    lengths = np.array([length for _, length in parts], kind)
    found = places_of(starts, lengths)
    assert found.dtype == np.int64
    assert found.tolist() == [start + at for start, length in parts for at in range(length)]


@given(ROWS)
def test_row_sums_with_empty_rows(rows):
    offsets = offsets_of(np.array([len(row) for row in rows], np.int64))
    assert row_sums(flat(rows), offsets).tolist() == [sum(row) for row in rows]
    assert row_sums(flat(rows) > 0, offsets).tolist() == [sum(v > 0 for v in row) for row in rows]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=8), KINDS)
def test_rows_from_starts_however_long(parts, kind):
    starts = np.array([start for start, _ in parts], kind)
    lengths = np.array([length for _, length in parts], kind)
    values = np.arange(100, 160, dtype=np.int32)
    for long in (0, 99):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ragged, "LONG_ROW", long)
            found = rows_at(values, starts, lengths)
        assert found.dtype == np.int32
        assert found.tolist() == [100 + a + i for a, n in parts for i in range(n)]
