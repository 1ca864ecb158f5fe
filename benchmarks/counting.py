"""Counting against polars' n-gram group-by, ahocorasick-rs, itself on one core, and itself on text
that repeats itself.
"""

import time
from functools import partial

import ahocorasick_rs
import numpy as np
import polars as pl

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.corpus.store import Corpus, concatenate
from leakscope.leakage.correct_runs.occurrences import collect
from leakscope.leakage.counts.counting import Counts, count
from leakscope.leakage.counts.trie import Trie
from leakscope.records.documents import Documents, Scores


def model_sequences(learned_on: Corpus, on: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """S of a trained model on its own corpus at k = 3, as ids of another corpus's lexicon."""
    model = material.model("lstm-2x128", learned_on)
    documents = learned_on.load()
    found = collect(documents, model.score(documents, top_k=3), 3)
    known = [on.lexicon.ids.get(word, 0) for word in learned_on.lexicon.words]
    return np.array(known, np.int32)[found.ids], found.offsets


DRAWN = 200_000


def drawn_sequences(on: Corpus, size: int = DRAWN, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Far more than any model gave so far, to see where counting ends: runs of words from the
    corpus's own documents, of about five words each and at most sixteen, as flat ids and offsets.
    """
    rng = np.random.default_rng(seed)
    documents = concatenate(list(on.shards[0].documents()))
    lengths = documents.lengths()
    chosen = rng.choice(np.flatnonzero(lengths > 0), size)
    starts = (rng.random(size) * lengths[chosen]).astype(np.int64)
    wanted = np.minimum(rng.geometric(0.2, size), 16)
    sizes = np.minimum(wanted, lengths[chosen] - starts)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first = documents.offsets[chosen] + starts
    places = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
    return documents.ids[places], offsets


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
    given = model_sequences(material.corpus(learned_on), on)
    found = against_peers(on, parts, given, "S of a model", (8.0, 20.0))
    found += against_peers(on, parts, drawn_sequences(on), "drawn from D", (None, None))
    trie = Trie.empty(len(on.lexicon))
    trie.insert(*given)
    two, one = interleaved(
        lambda: trie_counts(parts * 10, trie, 2), lambda: trie_counts(parts * 10, trie, 1), 5
    )
    speed = f"{10 * sum(len(part.ids) for part in parts) / two:,.0f} words/s on two"
    found.append(Line("count, one core / two", one / two, 1.7, False, detail=speed))
    found.append(a_billion(parts, len(on.lexicon), drawn_sequences(on)))
    return found + on_repeated_words(concatenate(parts), len(on.lexicon))


def a_billion(
    parts: list[Documents], lexicon: int, sequences: tuple[np.ndarray, np.ndarray]
) -> Line:
    """Seconds for a billion words, the same text again and again, from memory; `billion` has as
    many different ones, from disk.
    """
    trie = Trie.empty(lexicon)
    trie.insert(*sequences)
    words = sum(len(part.ids) for part in parts)
    again = parts * -(-1_000_000_000 // words)
    begin = time.perf_counter()
    trie_counts(again, trie, 2)
    spent = time.perf_counter() - begin
    detail = f"{trie.nodes:,} nodes, two threads"
    return Line("a billion words counted", spent, 75.0, True, " s", detail)


def on_repeated_words(ordinary: Documents, lexicon: int, words: int = 1_000_000) -> list[Line]:
    """Seconds for each word of a text that repeats itself against those of ordinary text, where a
    model gives every word away: all documents are sequences. Then the search for copies alike, in
    runs of about 10 words.
    """
    found = []
    for name, phrase in (("one word", 1), ("a phrase of ten", 10)):
        text = np.resize(np.arange(phrase, dtype=np.int32), words)
        repeated = Documents(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([0, words]), text
        )
        counts = all_given_away(repeated, lexicon)
        places = (words - np.arange(1, words + 1)) // phrase + 1  # node n is the first n words
        if (counts.total[1:] != places).any() or (counts.users[1:] != 1).any():
            raise SystemExit(f"counts are wrong for {name} again and again")
        for what, work in (
            ("count", partial(all_given_away, lexicon=lexicon)),
            ("copies", search_for_copies),
        ):
            took, usual = interleaved(partial(work, repeated), partial(work, ordinary), 5)
            ratio = (took / words) / (usual / len(ordinary.ids))
            detail = f"{1e9 * took / words:.0f} ns a word, {1e9 * usual / len(ordinary.ids):.0f} ns"
            line = f"{what}, {name} {words // phrase:,} times / ordinary text"
            found.append(Line(line, ratio, 3.0, True, detail=detail))
    return found


def all_given_away(documents: Documents, lexicon: int) -> Counts:
    """Whole documents as sequences, from the trie on, on one core."""
    trie = Trie.empty(lexicon)
    trie.insert(documents.ids, documents.offsets)
    return count(trie, [[documents]])


def search_for_copies(documents: Documents, seed: int = 0) -> np.ndarray:
    """Which runs are copies where nine words out of ten are predicted, at random."""
    hit = np.random.default_rng(seed).random(len(documents.ids), np.float32) < 0.9
    rank = np.where(hit, 0, 1).astype(np.int32)
    nothing = np.zeros(len(rank), np.float32)
    scores = Scores(rank, nothing, nothing, np.zeros(len(rank), np.bool_))
    return collect(documents, scores, 1).copied


def against_peers(
    on: Corpus,
    parts: list[Documents],
    given: tuple[np.ndarray, np.ndarray],
    name: str,
    bars: tuple[float | None, float | None],
) -> list[Line]:
    """Our counting and the peers' on the same sequences, once their counts are seen to agree."""
    documents = concatenate(parts)
    trie = Trie.empty(len(on.lexicon))
    nodes = trie.insert(*given)
    distinct = {int(node): tuple(trie.sequence(int(node))) for node in np.unique(nodes)}
    sequences = list(distinct.values())
    counts = trie_counts(parts, trie, 2)
    peers = {"polars n-grams": polars_counts, "ahocorasick-rs": aho_corasick_counts}
    detail = f"{name}: {len(documents.ids):,} words, {len(sequences):,} sequences"

    def ours() -> Counts:
        """From the sequences, like the peers: the trie is built anew."""
        fresh = Trie.empty(len(on.lexicon))
        fresh.insert(*given)
        return trie_counts(parts, fresh, 2)

    found = []
    for (peer, work), bar in zip(peers.items(), bars, strict=True):
        theirs = work(documents, sequences)
        for node, sequence in distinct.items():
            mine = int(counts.total[node]), int(counts.users[node])
            if mine != tuple(theirs.get(sequence, (0, 0))):
                raise SystemExit(f"counts differ for a sequence of {len(sequence)} words")
        mine_took, theirs_took = interleaved(ours, partial(work, documents, sequences), 3)
        line = f"{peer} / count, {name}"
        found.append(Line(line, theirs_took / mine_took, bar, False, detail=detail))
    return found
