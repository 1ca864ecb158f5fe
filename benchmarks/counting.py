"""Counting against polars' n-gram group-by, ahocorasick-rs, and itself on one core."""

import ahocorasick_rs
import numpy as np
import polars as pl

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.corpus.store import Corpus, concatenate
from leakscope.leakage.collect import collect
from leakscope.leakage.counting import Counts, count
from leakscope.leakage.trie import Trie
from leakscope.records.documents import Documents


def some_sequences(learned_on: Corpus, on: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """S of a trained model on its own corpus at k = 3, as ids of another corpus's lexicon."""
    model = material.model("lstm-2x128", learned_on)
    documents = learned_on.load()
    found = collect(documents, model.score(documents, top_k=3), 3)
    known = [on.lexicon.ids.get(word, 0) for word in learned_on.lexicon.words]
    return np.array(known, np.int32)[found.ids], found.offsets


def polars_counts(documents: Documents, sequences: list[tuple[int, ...]]) -> dict:
    """For each length: all n-grams of that length, joined with the sequences, grouped."""
    ids = documents.ids.astype(np.int32)
    place = np.arange(len(ids))
    document = np.repeat(np.arange(len(documents)), documents.lengths())
    ends = documents.offsets[1:][document]
    users = np.repeat(documents.users, documents.lengths())
    found = {}
    for length in sorted({len(s) for s in sequences}):
        names = [f"w{i}" for i in range(length)]
        whole = place + length <= ends
        starts = place[whole]
        grams = pl.DataFrame(
            {name: ids[starts + i] for i, name in enumerate(names)} | {"user": users[starts]}
        )
        wanted = pl.DataFrame(
            np.array([s for s in sequences if len(s) == length], np.int32), schema=names
        )
        table = (
            grams.lazy()
            .join(wanted.lazy(), on=names, how="semi")
            .group_by(names)
            .agg(pl.len().alias("total"), pl.col("user").n_unique().alias("users"))
            .collect()
        )
        for row in table.iter_rows():
            found[row[:length]] = row[length:]
    return found


def aho_corasick_counts(documents: Documents, sequences: list[tuple[int, ...]]) -> dict:
    """Words as single characters, so that every overlapping match is a match of words."""
    patterns = ["".join(chr(0x10000 + w) for w in s) for s in sequences]
    automaton = ahocorasick_rs.AhoCorasick(patterns, store_patterns=False)
    total = np.zeros(len(sequences), np.int64)
    users = np.zeros(len(sequences), np.int64)
    last = np.full(len(sequences), -1)
    for index in range(len(documents)):
        text = "".join(chr(0x10000 + w) for w in documents.words_of(index).tolist())
        user = documents.users[index]
        for pattern, _, _ in automaton.find_matches_as_indexes(text, overlapping=True):
            total[pattern] += 1
            if last[pattern] != user:
                last[pattern] = user
                users[pattern] += 1
    pairs = zip(total.tolist(), users.tolist(), strict=True)
    return dict(zip(sequences, pairs, strict=True))


def trie_counts(parts: list[Documents], trie: Trie, threads: int) -> Counts:
    return count(trie, [[part] for part in parts], threads)


def lines(words: int = 1_000_000, learned_on: int = 300_000) -> list[Line]:
    on = material.corpus(words)
    parts = [concatenate(list(shard.documents())) for shard in on.shards]
    documents = concatenate(parts)
    ids, offsets = some_sequences(material.corpus(learned_on), on)
    trie = Trie.empty(len(on.lexicon))
    nodes = trie.insert(ids, offsets)
    distinct = {int(node): tuple(trie.sequence(int(node))) for node in np.unique(nodes)}
    sequences = list(distinct.values())
    counts = trie_counts(parts, trie, 2)
    detail = f"{len(documents.ids):,} words, {len(sequences):,} sequences"
    for peer in (polars_counts(documents, sequences), aho_corasick_counts(documents, sequences)):
        for node, sequence in distinct.items():
            mine = int(counts.total[node]), int(counts.users[node])
            if mine != tuple(peer.get(sequence, (0, 0))):
                raise SystemExit(f"counts differ for a sequence of {len(sequence)} words")

    def ours() -> Counts:
        """From the sequences, like the peers: the trie is built anew."""
        fresh = Trie.empty(len(on.lexicon))
        fresh.insert(ids, offsets)
        return trie_counts(parts, fresh, 2)

    mine, theirs = interleaved(ours, lambda: polars_counts(documents, sequences), 3)
    result = [Line("polars n-grams / count", theirs / mine, 8.0, False, detail=detail)]
    mine, theirs = interleaved(ours, lambda: aho_corasick_counts(documents, sequences), 3)
    result.append(Line("ahocorasick-rs / count", theirs / mine, 20.0, False, detail=detail))
    two, one = interleaved(
        lambda: trie_counts(parts * 10, trie, 2), lambda: trie_counts(parts * 10, trie, 1), 5
    )
    speed = f"{10 * len(documents.ids) / two:,.0f} words/s on two"
    result.append(Line("count, one core / two", one / two, 1.7, False, detail=speed))
    return result
