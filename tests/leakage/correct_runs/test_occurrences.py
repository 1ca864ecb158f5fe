"""Runs of correct words against a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.engine import spilled_array
from leakscope.leakage.correct_runs import maximal_runs, occurrences
from leakscope.leakage.correct_runs.occurrences import collect, collected
from leakscope.records.documents import Documents, Scores
from peak_memory import growth_of


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


def scored_at_random(rng, words, share):
    """Scores with a run wherever chance has it."""
    rank = (rng.random(words) > share).astype(np.int32)
    log_prob = np.where(rank == 0, -rng.random(words), np.nan).astype(np.float32)
    return Scores(rank, log_prob, log_prob / 2, rng.random(words) < 0.1)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=5),
    st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_occurrences_of_huge_documents_come_some_at_a_time(lengths, share, block, seed):
    rng = np.random.default_rng(seed)
    documents = Documents.of([(n, rng.integers(0, 4, size)) for n, size in enumerate(lengths)])
    scores = scored_at_random(rng, len(documents.ids), share)
    whole = collect(documents, scores, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_array, "LONG", 1)
        patch.setattr(maximal_runs, "BLOCK", block)
        patch.setattr(occurrences, "BLOCK", block)
        some = list(collected(documents, scores, 1))
    for name in ("users", "documents", "starts", "copied", "near_tie", "ids", "rank", "log_prob"):
        parts = [getattr(each, name) for each in some] or [getattr(whole, name)[:0]]
        assert np.concatenate(parts).tobytes() == getattr(whole, name).tobytes()
    assert [n for each in some for n in each.lengths().tolist()] == whole.lengths().tolist()


def test_collecting_a_huge_document_takes_a_few_bytes_a_word(monkeypatch):
    monkeypatch.setattr(spilled_array, "LONG", 1 << 18)
    monkeypatch.setattr(maximal_runs, "BLOCK", 1 << 16)
    monkeypatch.setattr(occurrences, "BLOCK", 1 << 16)
    words, rng = 4_000_000, np.random.default_rng(0)
    scores = scored_at_random(rng, words, 0.1)
    ids = rng.integers(0, 3000, words).astype(np.int32)
    one = Documents(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([0, words]), ids)
    few = Documents(one.users, one.numbers, np.array([0, 9]), ids[:9])
    collect(few, scored_at_random(rng, 9, 0.5), 1)  # compiles
    assert growth_of(lambda: sum(map(len, collected(one, scores, 1)))) < 6 * words
