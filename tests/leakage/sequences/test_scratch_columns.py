"""Slices of long columns."""

from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.sequences.scratch_columns import slices_of


@given(st.integers(0, 30), st.integers(1, 9))
def test_slices_are_all_rows_in_order(size, rows):
    assert [place for here in slices_of(size, rows) for place in range(size)[here]] == [
        *range(size)
    ]
