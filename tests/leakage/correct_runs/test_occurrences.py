"""Runs of correct words against a plain loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.correct_runs.occurrences import collect
from leakscope.records.documents import Documents, Scores


def plain_runs(documents, hits):
    """(document, start, words) of every maximal run, one word at a time."""
    found = []
    for number, (words, correct) in enumerate(zip(documents, hits, strict=True)):
        run = []
        for place, word in enumerate(words):
            if correct[place]:
                run.append(word)
            elif run:
                found.append((number, place - len(run), run))
                run = []
        if run:
            found.append((number, len(words) - len(run), run))
    return found


def plain_copied(words, start, run):
    return any(words[i : i + len(run)] == run for i in range(start - len(run) + 1))


cases = st.lists(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=10), max_size=6)


@given(cases, st.integers(1, 4))
def test_collect_equals_a_plain_loop(case, k):
    texts = [[word for word, _ in document] for document in case]
    hits = [[hit for _, hit in document] for document in case]
    documents = Documents.of([(number, text) for number, text in enumerate(texts)])
    flat = [hit for document in hits for hit in document]
    scores = Scores(
        np.array([k - 1 if hit else k for hit in flat], np.int32),
        np.array([-0.5] * len(flat), np.float32),
        np.array([-0.1] * len(flat), np.float32),
        np.zeros(len(flat), np.bool_),
    )
    found = collect(documents, scores, k)
    mine = [
        (int(d), int(s), found.ids[a:b].tolist())
        for d, s, a, b in zip(
            found.documents, found.starts, found.offsets, found.offsets[1:], strict=False
        )
    ]
    expected = plain_runs(texts, hits)
    assert mine == expected
    assert found.users.tolist() == [number for number, _, _ in expected]
    assert found.copied.tolist() == [plain_copied(texts[d], s, run) for d, s, run in expected]


def test_near_tie_at_the_miss_that_ends_a_run_is_flagged():
    documents = Documents.of([(0, [1, 2, 3, 4])])
    nothing = np.full(4, np.nan, np.float32)
    scores = Scores(
        np.array([0, 1, 0, 0], np.int32), nothing, nothing, np.array([False, True, False, False])
    )
    assert collect(documents, scores, 1).near_tie.tolist() == [True, False]
