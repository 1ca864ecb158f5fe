import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.correct_runs.maximal_runs import maximal_runs
from leakscope.records.ragged import offsets_of


def plainly(rows: list[list[bool]]) -> list[tuple[int, int, int]]:
    """(row, first, stop) of each run, by walking over the words of one row after another."""
    found, place = [], 0
    for number, row in enumerate(rows):
        first = None
        for word in row:
            if word and first is None:
                first = place
            if not word and first is not None:
                found.append((number, first, place))
                first = None
            place += 1
        if first is not None:
            found.append((number, first, place))
    return found


@given(st.lists(st.lists(st.booleans(), max_size=7), max_size=7))
def test_runs_are_those_of_a_plain_walk(rows):
    correct = np.array([word for row in rows for word in row], np.bool_)
    runs = maximal_runs(correct, offsets_of(np.array([len(row) for row in rows], np.int64)))
    places = zip(runs.rows.tolist(), runs.first.tolist(), runs.stop.tolist(), strict=True)
    assert list(places) == plainly(rows)
    assert runs.lengths.sum() == correct.sum()
