"""S collected and counted by stages, in one trie or several, against plain groupings in memory."""

import pickle
import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.leakage.correct_runs.score_stage import score_piece
from leakscope.leakage.counts.corpus_counting import CorpusCounting
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.counts.trie_parts import NODE_BYTES
from leakscope.leakage.sequences import counted, scratch_columns
from leakscope.leakage.sequences.collect_stage import collect_pieces
from leakscope.leakage.sequences.counted import SequenceCounting
from leakscope.leakage.sequences.distinct import Sequences, shortest_contexts
from leakscope.leakage.sequences.first_words import weights_of
from leakscope.leakage.sequences.members import Members, gather
from leakscope.records.documents import Scores
from leakscope.records.errors import LeakscopeError

WORDS = [f"w{i}" for i in range(7)]


class Drawn:
    """A model whose ranks are drawn, and some of whose probabilities are not told."""

    def __init__(self, seed, silent):
        self.rng, self.silent = np.random.default_rng(seed), silent

    def score(self, documents, *, top_k, every_probability=False):
        size = len(documents.ids)
        log_prob = np.log(self.rng.random(size, np.float32))
        log_prob[self.rng.random(size) < self.silent] = np.nan
        rank = self.rng.choice([0, top_k], size, p=[0.7, 0.3]).astype(np.int32)
        return Scores(rank, log_prob, log_prob, self.rng.random(size) < 0.1)


def scored(corpus, folder, seed, silent=0.05, words=40):
    """Pieces as the first stage writes them."""
    model, made = Drawn(seed, silent), []
    for chunk in corpus.documents():
        for piece in chunk.pieces(words):
            made.append(folder / f"score-{len(made)}.parquet")
            score_piece(model, piece, 3, made[-1])
    return made


def drawn_rows(seed, users=6, documents=30):
    rng = np.random.default_rng(seed)
    return [
        (f"u{rng.integers(users)}", " ".join(rng.choice(WORDS, rng.geometric(0.1)).tolist()))
        for _ in range(documents)
    ]


def plain_sequences(members, counts):
    """Group S by sequence, all at once."""
    size = len(counts.total)
    total = np.bincount(members.nodes, minlength=size)
    pairs = np.unique((members.nodes.astype(np.int64) << 32) | members.users)
    users = np.bincount(pairs >> 32, minlength=size)
    present = np.flatnonzero(total)
    lengths = np.zeros(size, np.int32)
    lengths[members.nodes] = members.lengths
    copies = np.bincount(members.nodes, weights=members.copied, minlength=size)
    ties = np.bincount(members.nodes, weights=members.near_tie, minlength=size)
    lowest = np.full(size, np.inf, np.float32)
    with np.errstate(invalid="ignore"):
        np.minimum.at(lowest, members.nodes, members.perplexities)
    keys = (present, -total[present], -lengths[present], counts.users[present])
    nodes = present[np.lexsort(keys)]
    row = np.zeros(size, np.int32)
    row[nodes] = np.arange(len(nodes), dtype=np.int32)
    return Sequences(
        nodes=nodes.astype(np.int32),
        lengths=lengths[nodes],
        total_in_s=total[nodes],
        users_in_s=users[nodes].astype(np.int32),
        total_in_d=counts.total[nodes],
        users_in_d=counts.users[nodes],
        copied=copies[nodes] == total[nodes],
        near_tie=ties[nodes] > 0,
        lowest=lowest[nodes],
        of_member=row[members.nodes],
    )


def plain(pieces, corpus):
    trie = Trie.empty(corpus.manifest.lexicon)
    members = gather(pieces, trie)
    counts = count(trie, [shard.documents() for shard in corpus.shards])
    return trie, members, plain_sequences(members, counts)


def assert_equal_to_plain(counted, pieces, corpus):
    trie, members, sequences = plain(pieces, corpus)
    for kind, found, wanted in (
        (Members, counted.members, members),
        (Sequences, counted.sequences, sequences),
    ):
        for field in fields(kind):
            if field.name != "nodes":
                mine, theirs = getattr(found, field.name), getattr(wanted, field.name)
                assert mine.dtype == theirs.dtype, field.name
                assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), field.name
    for nodes, theirs in (
        (counted.sequences.nodes, sequences.nodes),
        (counted.members.nodes, members.nodes),
    ):
        spelled, wanted = counted.trie.sequences(nodes), trie.sequences(theirs)
        assert all(np.array_equal(a, b) for a, b in zip(spelled, wanted, strict=True))
        assert np.array_equal(counted.trie.find(spelled[1], spelled[0]), nodes)
    documents = np.unique(
        np.stack([counted.sequences.of_member, members.documents]).astype(np.int64), axis=1
    )
    assert np.array_equal(
        counted.documents_in_s(counted.sequences.nodes),
        np.bincount(documents[0], minlength=len(sequences)),
    )
    assert counted.trie.vocabulary().tolist() == np.unique(trie.words[1:]).tolist()


@pytest.fixture
def corpus(make_corpus):
    return make_corpus(drawn_rows(1), shard_words=60)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 5, 40, 10**6]), st.integers(1, 7))
def test_equal_to_plain_groupings(seed, nodes, rows):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch_columns.slices_of, "__defaults__", (rows,))
        folder = Path(name)
        made = [Row(user, text) for user, text in drawn_rows(seed, documents=seed % 12 + 1)]
        corpus = build_rows(made, folder / "corpus", settings=BuildSettings(validation=0.0))
        pieces = scored(corpus, folder, seed)
        counting = SequenceCounting(corpus, folder, ThreadEngine(), trie_bytes=nodes * NODE_BYTES)
        counted, sizes = counting.count(pieces)
        assert_equal_to_plain(counted, pieces, corpus)
        everything = corpus.load()
        assert sizes.documents.tolist() == np.bincount(everything.users).tolist()


@pytest.mark.parametrize(("share", "parts"), [(1.0, 1), (0.6, 2), (0.0, 7)])
def test_tries_split_by_first_word_count_alike(corpus, tmp_path, share, parts):
    pieces = scored(corpus, tmp_path, 5)
    trie, members, _ = plain(pieces, corpus)
    words = len(trie.sequences(np.unique(members.nodes))[1])
    counting = SequenceCounting(
        corpus, tmp_path, ThreadEngine(2), trie_bytes=int(words * share) * NODE_BYTES
    )
    counted, _ = counting.count(pieces)
    assert len(counted.trie.edges) == parts
    assert counted.trie.nodes == trie.nodes
    assert_equal_to_plain(counted, pieces, corpus)


def test_first_words_are_weighed_by_their_distinct_sequences(corpus, tmp_path):
    pieces = scored(corpus, tmp_path, 5)
    lexicon = corpus.manifest.lexicon
    collected = collect_pieces(pieces, lexicon, tmp_path, ThreadEngine())
    trie, members, _ = plain(pieces, corpus)
    offsets, ids = trie.sequences(np.unique(members.nodes))
    wanted = np.bincount(ids[offsets[:-1]], np.diff(offsets), lexicon)
    assert weights_of(collected, lexicon, 1).tolist() == wanted.tolist()
    sample = weights_of(collected, lexicon, 2)
    assert (
        (sample > 0) == (wanted > 0)
    ).all() and wanted.sum() / 2 < sample.sum() < wanted.sum() * 2


@pytest.mark.parametrize("engine", [LocalEngine(1), LocalEngine(2), ThreadEngine(3)])
def test_any_engine_counts_alike(corpus, tmp_path, engine):
    assert len(corpus.shards) > 2
    trie = Trie.empty(corpus.manifest.lexicon)
    gather(scored(corpus, tmp_path, 3), trie)
    wanted = count(trie, [shard.documents() for shard in corpus.shards])
    found, _ = CorpusCounting(corpus, tmp_path, engine, shard_bytes=1).count(trie)
    assert np.array_equal(found.total, wanted.total)
    assert np.array_equal(found.users, wanted.users)
    assert len(list(tmp_path.glob("count-*.parquet"))) == len(corpus.shards)


class SharedMemory(LocalEngine):
    """Sends stages as engines do that share arrays among workers: these may not be written to."""

    def map(self, stage, keys, folder, **options):
        buffers = []
        plain = pickle.dumps(stage, protocol=5, buffer_callback=buffers.append)
        sent = pickle.loads(plain, buffers=[each.raw().tobytes() for each in buffers])
        return super().map(sent, keys, folder, **options)


def test_workers_may_share_what_they_read(corpus, tmp_path):
    repeated = np.resize(np.arange(3, dtype=np.int32), 60)  # deep sequences have links, too
    trie = Trie.empty(corpus.manifest.lexicon)
    trie.insert(repeated, np.array([0, 25, 60]))
    gather(scored(corpus, tmp_path, 3), trie)
    wanted = count(trie, [shard.documents() for shard in corpus.shards])
    found, _ = CorpusCounting(corpus, tmp_path, SharedMemory()).count(trie)
    assert np.array_equal(found.total, wanted.total)
    assert np.array_equal(found.users, wanted.users)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=30),
    st.integers(1, 5),
    st.integers(1, 9),
)
def test_the_shortest_contexts_are_those_of_a_sort(pairs, most, rows):
    owners = np.array([owner for owner, _ in pairs], np.int32)
    starts = np.array([start for _, start in pairs], np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch_columns.slices_of, "__defaults__", (rows,))
        found = shortest_contexts(owners, starts, 4, most)
    for owner in range(4):
        mine = [place for place, (who, _) in enumerate(pairs) if who == owner]
        mine.sort(key=lambda place: (pairs[place][1], place))
        low, high = found.offsets[owner : owner + 2]
        assert found.members[low:high].tolist() == mine[:most]


@pytest.mark.parametrize(
    ("limit", "what"),
    [("MOST_OCCURRENCES", "correct runs"), ("MOST_NODES", "beginnings of sequences")],
)
def test_more_than_can_be_numbered_is_refused(corpus, tmp_path, monkeypatch, limit, what):
    pieces = scored(corpus, tmp_path, 1)
    monkeypatch.setattr(counted, limit, 5)
    with pytest.raises(LeakscopeError, match=f"{what}, and a report counts at most 5"):
        SequenceCounting(corpus, tmp_path, LocalEngine()).count(pieces)
