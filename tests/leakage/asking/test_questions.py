"""Questions in parts, on processes and found again: the answers of the model itself."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from leakscope.engine.local_engine import LocalEngine
from leakscope.leakage.asking import least_context, other_contexts
from leakscope.leakage.asking.document_sample import scored
from leakscope.leakage.asking.known_words import known_words
from leakscope.leakage.asking.least_context import ask_least_contexts, least_contexts
from leakscope.leakage.asking.sequences_in_context import SpelledSequences, Tail
from leakscope.leakage.pipeline import Resources, audit
from leakscope.records.artifacts import digest_of_columns
from leakscope.records.documents import Documents
from leakscope.records.ragged import offsets_of
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by, sharp_model, sharp_reader
from subjects import asked, subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


def spelled(rows, tails=False):
    """Sequences from (words, contexts), whole contexts each."""
    contexts = [context for _, listed in rows for context in listed]
    words = [words for words, _ in rows]
    texts = [
        Tail(" ".join("x" * n for n in (*context, *said)), tuple(range(len(context) + 1)))
        for said, listed in rows
        for context in listed
    ]
    return SpelledSequences(
        offsets_of(np.array([len(listed) for _, listed in rows])),
        np.ones(len(rows), np.bool_),
        np.arange(len(rows), dtype=np.int32),
        offsets_of(np.array([len(each) for each in words])),
        np.array([id for each in words for id in each], np.int32),
        np.array([len(context) for context in contexts], np.int32),
        offsets_of(np.array([len(context) for context in contexts])),
        np.array([id for context in contexts for id in context], np.int32),
        tuple(texts) if tails else (),
    )


ids = st.lists(st.integers(0, 6), max_size=5)
some_rows = st.lists(
    st.tuples(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.lists(ids, min_size=1)),
    min_size=1,
    max_size=8,
)


@given(some_rows, st.booleans(), st.data())
def test_a_part_is_the_same_sequences(rows, tails, data):
    whole = spelled(rows, tails)
    low = data.draw(st.integers(0, len(rows)))
    high = data.draw(st.integers(low, len(rows)))
    part = whole.part(low, high)
    assert len(part) == high - low
    for index in range(len(part)):
        assert part.words(index) == whole.words(low + index)
        assert part.examples(index) == whole.examples(low + index)
        assert part.suffixes(index, 0) == whole.suffixes(low + index, 0)
    assert part.digest() == spelled(rows[low:high], tails).digest()
    assert (part.digest() == whole.digest()) == (len(part) == len(whole))


def test_other_numbers_and_texts_have_other_digests():
    one = np.array([1, 2], np.int32)
    apart = [
        digest_of_columns(one),
        digest_of_columns(one.astype(np.int64)),
        digest_of_columns(one[:1], one[1:]),
        digest_of_columns(one, texts=["ab"]),
        digest_of_columns(one, texts=["a", "b"]),
        digest_of_columns(one, texts=["\ud800"]),
    ]
    assert len(set(apart)) == len(apart)


def test_least_contexts_by_parts_are_those_of_all(make_corpus, tmp_path, monkeypatch):
    model = sharp_model("gru", WORDS, 4)
    corpus = make_corpus(repeated_by(model, 12, 24, 14))
    reader = model.reading(corpus.lexicon)
    rng = np.random.default_rng(5)
    rows = [
        (rng.integers(0, 7, 2).tolist(), [rng.integers(0, 7, n).tolist() for n in (3, 6)])
        for _ in range(23)
    ]
    whole = least_contexts(reader, spelled(rows), 3, 4)
    assert len(set(whole.words.tolist())) > 1
    monkeypatch.setattr(least_context, "SLOW_SEQUENCES", 5)
    found = ask_least_contexts(asked(reader, tmp_path), spelled(rows), 3, 4)
    assert (found.words == whole.words).all() and (found.exact == whole.exact).all()
    assert len(list(tmp_path.glob("least-context-*.parquet"))) == 5


def test_scores_are_those_of_the_model(make_corpus, tmp_path):
    model = sharp_model("lstm", WORDS, 4)
    corpus = make_corpus(repeated_by(model, 6, 24, 14))
    reader = model.reading(corpus.lexicon)
    documents = list(corpus.documents())
    found = scored(asked(reader, tmp_path), documents, 2)
    plain = [reader.score(some, top_k=2, every_probability=True) for some in documents]
    for name in ("rank", "log_prob", "top_log_prob", "near_tie"):
        wanted = np.concatenate([getattr(each, name) for each in plain])
        assert getattr(found, name).dtype == wanted.dtype
        assert np.array_equal(getattr(found, name), wanted)
    assert len(scored(asked(reader, tmp_path), [Documents.of([])], 2).rank) == 0


def test_a_model_may_not_tell_what_it_knows(make_corpus, tmp_path):
    corpus = make_corpus(repeated_by(sharp_model("gru", WORDS, 4), 2, 24, 14))
    reader = sharp_model("gru", WORDS[:4], 4).reading(corpus.lexicon)
    every = np.arange(len(corpus.lexicon.words), dtype=np.int32)[::-1].repeat(2)
    known = known_words(asked(reader, tmp_path), every)
    assert known.tolist() == reader.knows(every).tolist() and 0 < known.sum() < len(known)

    class Silent:
        def knows(self, ids):
            return None

    silent = replace(asked(Silent(), tmp_path), identity={"model": "silent"})
    assert known_words(silent, every) is None


def test_processes_give_the_same_report(make_corpus, tmp_path, monkeypatch):
    """With little asked at a time, so that several processes have work."""
    monkeypatch.setattr(least_context, "SLOW_SEQUENCES", 4)
    monkeypatch.setattr(other_contexts, "SLOW_PROMPTS", 20)
    model = sharp_model("gru", WORDS, 4)
    corpus = make_corpus(repeated_by(model, 12, 24, 14), validation=0.2)
    settings = ReportSettings(top_k=2, reveal=True, elsewhere=80)
    made = []
    for workers in (1, 2):
        out = tmp_path / f"run-{workers}"
        subject = subject_of(partial(sharp_reader, corpus.path, "gru", WORDS, 4))
        audit(subject, corpus, out, settings, resources=Resources(LocalEngine(workers)))
        made.append([(out / f"{name}.parquet").read_bytes() for name in ("sequences", "users")])
    assert made[0] == made[1]
    table = pq.read_table(tmp_path / "run-2" / "sequences.parquet")
    assert sum(least is not None for least in table["least_context"].to_pylist()) > 8
