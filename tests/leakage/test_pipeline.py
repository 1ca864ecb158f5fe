"""The whole report against a plain reference: Algorithm 1 calling the model once a prefix, and
brute-force matching for the counts.
"""

import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.store import Corpus
from leakscope.leakage.pipeline import Resources, audit
from leakscope.models.word.word_model import WordModel
from leakscope.records.runs.report_settings import ReportSettings
from small_models import SMALL, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "é", "東", "!", "rare", "rarer"]


def algorithm_1(model: WordModel, corpus: list[tuple[str, list[str]]], k: int):
    """S as (user, context, sequence) triples; the flush at a document's end is ours."""
    found = []
    for user, document in corpus:
        run: list[str] = []
        for place, word in enumerate(document):
            distribution = model.next(document[:place])
            top = [distribution.entries[i] for i in distribution.order(k) if i < distribution.words]
            if word in top:
                run.append(word)
            elif run:
                found.append((user, tuple(document[: place - len(run)]), tuple(run)))
                run = []
        if run:
            found.append((user, tuple(document[: len(document) - len(run)]), tuple(run)))
    return found


def occurrences_in(document: list[str], sequence: tuple[str, ...]) -> int:
    width = len(sequence)
    return sum(tuple(document[i : i + width]) == sequence for i in range(len(document) - width + 1))


def reference(model: WordModel, corpus: list[tuple[str, list[str]]], k: int):
    """Every feature of every sequence, by brute force."""
    members = algorithm_1(model, corpus, k)
    features = {}
    for sequence in {member[2] for member in members}:
        mine = [member for member in members if member[2] == sequence]
        holders = [(user, occurrences_in(document, sequence)) for user, document in corpus]
        features[sequence] = (
            len(mine),
            len({user for user, _, _ in mine}),
            sum(count for _, count in holders),
            len({user for user, count in holders if count}),
            Counter(context for _, context, _ in mine),
            all(occurrences_in(list(context), sequence) for _, context, _ in mine),
        )
    return features


def run_audit(corpus: Corpus, model: WordModel, out: Path, k: int, threads: int = 1):
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    options = ReportSettings(top_k=k, reveal=True, contexts=10_000, context_words=10_000)
    metrics = audit(subject, corpus, out, options, resources=Resources(threads=threads))
    rows = pq.read_table(out / "sequences.parquet").to_pylist()
    features = {
        tuple(row["sequence"]): (
            row["total_in_s"],
            row["users_in_s"],
            row["total_in_d"],
            row["users_in_d"],
            Counter(tuple(context) for context in row["contexts"]),
            row["copied_from_context"],
        )
        for row in rows
    }
    assert len(features) == len(rows) == metrics.sequences
    assert metrics.unique_sequences == sum(f[3] == 1 for f in features.values())
    return features


documents = st.lists(
    st.tuples(
        st.sampled_from(["u1", "u2", "u3"]),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("k", [1, 3])
@settings(max_examples=25)
@given(
    rows=documents,
    seed=st.integers(0, 50),
    batch=st.sampled_from([1, 7, 8192]),
    shard_words=st.sampled_from([1, 10, 10_000]),
    vocabulary=st.integers(3, 7),
)
def test_report_equals_the_plain_reference(kind, k, rows, seed, batch, shard_words, vocabulary):
    with tempfile.TemporaryDirectory() as folder:
        stream = [Row(user, " ".join(words)) for user, words in rows]
        options = BuildSettings(validation=0.0, shard_words=shard_words)
        corpus = build_rows(stream, Path(folder, "corpus"), settings=options)
        known = corpus.lexicon.words[:vocabulary]
        model = sharp_model(kind, known, seed)
        expected = reference(model.precise, rows, k)
        batched = replace(model, batch_words=batch)
        assert run_audit(corpus, batched, Path(folder, "run"), k) == expected


@pytest.mark.parametrize("kind", SMALL)
def test_batches_shards_and_threads_change_nothing(kind, make_corpus, tmp_path):
    generator = torch.Generator().manual_seed(3)
    draws = torch.randint(0, len(WORDS), (40, 30), generator=generator).tolist()
    rows = [(f"u{i % 7}", " ".join(WORDS[w] for w in draw)) for i, draw in enumerate(draws)]
    results = []
    for number, (batch, shard_words, threads) in enumerate(
        [(1, 10**6, 1), (64, 100, 2), (8192, 1, 3)]
    ):
        corpus = make_corpus(rows, shard_words=shard_words)
        model = replace(sharp_model(kind, corpus.lexicon.words[:6]), batch_words=batch)
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            results.append(run_audit(corpus, model, tmp_path / f"run-{number}", 3, threads))
        finally:
            torch.set_num_threads(before)
    assert results[0] == results[1] == results[2]
    assert len(results[0]) > 10


def test_members_are_grouped_by_user_in_the_tables(make_corpus, tmp_path):
    rows = [("ann", "a b c d"), ("bob", "a b c"), ("ann", "d c b a a a")]
    corpus = make_corpus(rows)
    run_audit(corpus, sharp_model("gru", corpus.lexicon.words, 4), tmp_path / "run", 2)
    found = pq.read_table(tmp_path / "run" / "occurrences.parquet").to_pylist()
    sequences = pq.read_table(tmp_path / "run" / "sequences.parquet").to_pylist()
    totals = defaultdict(int)
    for row in found:
        totals[row["sequence"]] += 1
        assert len(row["ranks"]) == row["length"] == len(row["log_probs"])
        assert all(rank < 2 for rank in row["ranks"])
    assert dict(totals) == {row["id"]: row["total_in_s"] for row in sequences}
    users = pq.read_table(tmp_path / "run" / "users.parquet").to_pylist()
    assert {row["user_key"]: row["documents"] for row in users} == {"ann": 2, "bob": 1}
    assert {row["user_key"]: row["words"] for row in users} == {"ann": 10, "bob": 3}
