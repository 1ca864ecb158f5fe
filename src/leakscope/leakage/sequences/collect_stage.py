"""Collect S piece by piece: of each scored piece the few numbers that a report needs of every
occurrence, and the words of every distinct sequence once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.engine.progress import Progress, silent
from leakscope.engine.stages import Engine, Work
from leakscope.leakage.correct_runs.occurrences import Occurrences
from leakscope.leakage.correct_runs.score_stage import read_occurrences
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.sequences.members import Members, run_perplexities
from leakscope.records.artifacts import (
    damaged,
    digest_of,
    is_intact,
    open_parquet,
    parquet_sink,
    sealed_digest,
)
from leakscope.records.documents import BoolArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of

_SCHEMA = pa.schema(
    [
        ("user", pa.int32()),
        ("document", pa.int64()),
        ("start", pa.int32()),
        ("length", pa.int32()),
        ("perplexity", pa.float32()),
        ("copied", pa.bool_()),
        ("near_tie", pa.bool_()),
        ("first", pa.int32()),
        ("ids", pa.list_(pa.int32())),
    ]
)
"""A row for each occurrence. `first` is the row, in the same row group, of the first one of its
sequence, which alone has the words."""
_OF_RUNS = ("length", "perplexity", "copied", "near_tie")
_WORDS = "words_of_distinct"


@dataclass(frozen=True)
class CollectStage:
    """The `engine` stage over scored pieces; words are below `lexicon`."""

    pieces: tuple[Path, ...]
    lexicon: int
    name: str = "collect"
    reads_outputs: ClassVar[bool] = True

    def start(self) -> Work:
        """Nothing is to be loaded."""
        return lambda index, target: collect_piece(self.pieces[index], self.lexicon, target)


def collect_pieces(
    pieces: list[Path], lexicon: int, work: Path, engine: Engine, progress: Progress = silent
) -> list[Path]:
    """What is collected of scored pieces, each kept under the digest of its piece."""
    identity = {
        "lexicon": lexicon,
        "numpy": version("numpy"),  # it computes perplexities
        "leakscope": version("leakscope"),
    }
    return engine.map(
        CollectStage(tuple(pieces), lexicon),
        [digest_of({**identity, "piece": sealed_digest(piece)}) for piece in pieces],
        work,
        unit="pieces",
        keep=is_intact,
        progress=progress,
    )


def collect_piece(piece: Path, lexicon: int, target: Path) -> None:
    """Write what is collected of one scored piece."""
    words = 0
    with parquet_sink(target, _SCHEMA, sealed=True) as writer:
        for found in read_occurrences(piece):
            low, high = found.ids.min(initial=0), found.ids.max(initial=-1)
            if found.ids.dtype != np.int32 or low < 0 or high >= lexicon:
                raise damaged(piece)
            trie = Trie.empty(lexicon)
            first = first_of_each(trie.insert(found.ids, found.offsets), trie.nodes)
            batch = _rows(found, first)
            words += len(batch["ids"].flatten())
            writer.write_batch(batch, row_group_size=max(1, len(found)))
        writer.add_key_value_metadata({_WORDS: str(words)})


def first_of_each(nodes: IntArray, size: int) -> IntArray:
    """[o] the first place with the same node, which is below `size`."""
    places = np.zeros(size, np.int32)
    places[nodes[::-1]] = np.arange(len(nodes), dtype=np.int32)[::-1]  # the last one stays
    return places[nodes]


def _rows(found: Occurrences, first: IntArray) -> pa.RecordBatch:
    is_first = first == np.arange(len(first))
    lengths = found.lengths()
    words = found.ids[np.repeat(is_first, lengths)]
    offsets = offsets_of(np.where(is_first, lengths, 0))
    columns = [
        found.users,
        found.documents,
        found.starts,
        lengths.astype(np.int32),
        run_perplexities(found.log_prob, found.offsets),
        found.copied,
        found.near_tie,
        first,
        pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(words)),
    ]
    return pa.record_batch([pa.array(column) for column in columns], schema=_SCHEMA)


@dataclass(frozen=True)
class DistinctRuns:
    """The d distinct sequences of o occurrences, in the order of their first one."""

    numbers: IntArray
    """[o] which of them each occurrence is."""
    offsets: LongArray
    """[d + 1] sequence i has the words offsets[i] to offsets[i + 1]."""
    ids: IntArray

    @property
    def heads(self) -> IntArray:
        """[d] the first words."""
        return self.ids[self.offsets[:-1]]


def words_of_distinct(path: Path) -> int:
    """How many words the distinct sequences of a collected piece have together."""
    return int(open_parquet(path).metadata.metadata[_WORDS.encode()])


def read_collected(path: Path) -> Iterator[Members]:
    """Stream the occurrences of a collected piece; their nodes are still 0."""
    for table in _tables(path, ["user", "document", "start", *_OF_RUNS]):
        columns = {name: table[name].to_numpy() for name in table.column_names}
        yield Members(
            nodes=np.zeros(len(table), np.int32),
            users=columns["user"],
            documents=columns["document"],
            starts=columns["start"],
            lengths=columns["length"],
            perplexities=columns["perplexity"],
            copied=columns["copied"],
            near_tie=columns["near_tie"],
        )


def read_distinct(path: Path, lexicon: int) -> Iterator[DistinctRuns]:
    """Stream the distinct sequences of a collected piece, for the same occurrences at a time."""
    for table in _tables(path, ["length", "first", "ids"]):
        ids = table["ids"].chunk(0).flatten().to_numpy()
        first, lengths = table["first"].to_numpy(), table["length"].to_numpy()
        is_first: BoolArray = first == np.arange(len(first))
        offsets = offsets_of(lengths[is_first])
        if (
            (ids.min(initial=0) < 0 or ids.max(initial=-1) >= lexicon)
            or (first.min() < 0 or (first > np.arange(len(first))).any())
            or not is_first[first].all()
            or offsets[-1] != len(ids)
        ):
            raise damaged(path)
        numbers = (np.cumsum(is_first) - 1).astype(np.int32)[first]
        yield DistinctRuns(numbers, offsets, ids)


def _tables(path: Path, columns: list[str]) -> Iterator[pa.Table]:
    reader = open_parquet(path)
    for group in range(reader.num_row_groups):
        try:
            table = reader.read_row_group(group, columns=columns).combine_chunks()
        except (pa.ArrowException, OSError):
            raise damaged(path) from None
        if len(table):
            yield table
