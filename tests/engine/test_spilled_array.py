"""Arrays in files without a name: what was written is there, and nothing is left behind."""

import resource

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.engine import spilled_array
from leakscope.engine.spilled_array import SpilledArray, filled, spilled_zeros


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=6))
def test_a_column_is_all_that_was_put_into_it(tmp_path_factory, chunks):
    folder = tmp_path_factory.mktemp("scratch")
    column = SpilledArray(folder, np.int32)
    for chunk in chunks:
        column.append(np.array(chunk, np.int64))
    found = column.mapped()
    assert found.dtype == np.int32
    assert found.tolist() == [value for chunk in chunks for value in chunk]
    found[:] = 7
    assert not list(folder.iterdir())


def test_zeros_that_can_be_written_to(tmp_path):
    found = spilled_zeros(tmp_path, np.int64, 3)
    found[1] = -5
    assert found.tolist() == [0, -5, 0]
    assert len(spilled_zeros(tmp_path, np.int64, 0)) == 0
    assert not list(tmp_path.iterdir())


def test_no_room_is_an_error_and_not_the_end_of_the_process(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            spilled_zeros(tmp_path, np.int64, 1 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("kind, value", [(np.int32, 7), (np.float32, np.nan), (np.bool_, False)])
def test_a_long_array_is_in_a_file_and_has_the_same_values(monkeypatch, kind, value):
    plain = filled(kind, 50, value)
    monkeypatch.setattr(spilled_array, "LONG", 50)
    spilled = filled(kind, 50, value)
    assert plain.dtype == spilled.dtype
    assert plain.tobytes() == spilled.tobytes()
    assert spilled.base is not None
    assert plain.base is None
