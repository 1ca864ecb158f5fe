"""Arrays in files without a name: what was written is there, and nothing is left behind."""

import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.sequences.scratch_columns import ScratchColumn, scratch_array, slices_of


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=6))
def test_a_column_is_all_that_was_put_into_it(tmp_path_factory, chunks):
    folder = tmp_path_factory.mktemp("scratch")
    column = ScratchColumn(folder, np.int32)
    for chunk in chunks:
        column.append(np.array(chunk, np.int64))
    found = column.array()
    assert found.dtype == np.int32
    assert found.tolist() == [value for chunk in chunks for value in chunk]
    found[:] = 7
    assert not list(folder.iterdir())


def test_zeros_that_can_be_written_to(tmp_path):
    found = scratch_array(tmp_path, np.int64, 3)
    found[1] = -5
    assert found.tolist() == [0, -5, 0]
    assert len(scratch_array(tmp_path, np.int64, 0)) == 0
    assert not list(tmp_path.iterdir())


def test_no_room_is_an_error_and_not_the_end_of_the_process(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            scratch_array(tmp_path, np.int64, 1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@given(st.integers(0, 30), st.integers(1, 9))
def test_slices_are_all_rows_in_order(size, rows):
    assert [place for here in slices_of(size, rows) for place in range(size)[here]] == [
        *range(size)
    ]
