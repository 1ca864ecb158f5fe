"""The lexicons of all parts as one, and the lasting number of each word.

Words are counted in buckets that fit into memory. Each leaves a sorted run in a file without a
name, and the runs are merged. What is as long as the lexicon is in such files, which the system can
take from memory.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from leakscope.corpus.build_settings import LexiconOrder
from leakscope.corpus.building.user_pieces import UserPiece
from leakscope.corpus.building.word_buckets import WordBuckets
from leakscope.corpus.building.word_runs import CountedWords, SortedRuns
from leakscope.corpus.lexicon import LEXICON_SCHEMA, WordsDigest, lexicon_table
from leakscope.engine.spilled_array import spilled_zeros
from leakscope.records.artifacts import parquet_sink
from leakscope.records.documents import IntArray

_WRITTEN = 1 << 20  # words of a row group
_BLOCK = 1 << 22  # numbers at a time


class MergedLexicon(NamedTuple):
    """All words of the corpus."""

    size: int
    digest: str
    """As `Lexicon.digest`."""
    final: list[IntArray]
    """For each part, the lasting number of each word of its own lexicon."""


def merge_lexicons(
    parts: Sequence[Path],
    pieces: Sequence[UserPiece],
    order: LexiconOrder,
    target: Path,
    memory: int,
) -> MergedLexicon:
    """Write the lexicon of all parts, whose users are those of `pieces`, to `target`. `memory` is
    planned for, in bytes; beside `target` there are files without names meanwhile.
    """
    scratch = target.parent
    buckets, runs = WordBuckets(parts, memory, scratch), SortedRuns(scratch)
    numbers = spilled_zeros(scratch, np.int32, int(buckets.offsets[-1]))
    by_part = [
        numbers[low:high] for low, high in zip(buckets.offsets, buckets.offsets[1:], strict=False)
    ]
    for bucket in range(len(buckets)):
        _add_run(runs, buckets, bucket, pieces, order, by_part)
    size = len(runs)
    lasting = spilled_zeros(scratch, np.int32, size)
    digest = _write(target, runs, order, lasting)
    for low in range(0, len(numbers), _BLOCK):
        numbers[low : low + _BLOCK] = lasting[numbers[low : low + _BLOCK]]
    return MergedLexicon(size, digest, by_part)


def _add_run(
    runs: SortedRuns,
    buckets: WordBuckets,
    bucket: int,
    pieces: Sequence[UserPiece],
    order: LexiconOrder,
    numbers: list[IntArray],
) -> None:
    """Count the words of a bucket; `numbers` get their places in the runs."""
    counted = CountedWords()
    for each in buckets.rows(bucket):
        giant = pieces[each.part].giant
        numbers[each.part][each.rows] = counted.add(each.words, each.counts, each.users, giant)
    run = counted.sorted(order)
    places = np.empty(len(counted), np.int32)
    places[run.ranking] = np.arange(len(runs), len(runs) + len(counted), dtype=np.int32)
    runs.append(run)
    for part, mine in enumerate(numbers):
        rows = buckets.places(bucket, part)
        mine[rows] = places[mine[rows]]


def _write(target: Path, runs: SortedRuns, order: LexiconOrder, lasting: IntArray) -> str:
    """Write the lexicon, and the number of each word into `lasting`; the digest of the words."""
    digest, done = WordsDigest(), 0
    with parquet_sink(target, LEXICON_SCHEMA) as writer:
        for some in runs.merged(order, _WRITTEN):
            words = some.words.cast(pa.large_string())
            writer.write_table(lexicon_table(words, some.counts, some.users, first=done))
            digest.update(words.to_pylist())
            lasting[some.rows] = np.arange(done, done + len(words), dtype=np.int32)
            done += len(words)
    return digest.hexdigest()
