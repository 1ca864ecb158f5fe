"""Score D piece by piece and keep the members of S: the first stage of a report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import Corpus, Shard
from leakscope.engine.stages import Work
from leakscope.leakage.correct_runs.occurrences import Occurrences, collected
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import damaged, open_parquet, parquet_sink
from leakscope.records.documents import Documents, IntArray, Scores
from leakscope.records.ragged import offsets_of
from leakscope.records.splitmix import scrambled

PIECE_WORDS = 400_000
"""Words of a piece: enough documents to batch by length. A killed report loses at most one piece
of each worker."""
SLOW_PIECE_WORDS = 50_000
"""The same for models that may take minutes for so many words."""

_SCHEMA = pa.schema(
    [
        ("user", pa.int32()),
        ("document", pa.int64()),
        ("start", pa.int32()),
        ("copied", pa.bool_()),
        ("near_tie", pa.bool_()),
        ("ids", pa.list_(pa.int32())),
        ("rank", pa.list_(pa.int32())),
        ("log_prob", pa.list_(pa.float32())),
        ("top_log_prob", pa.list_(pa.float32())),
    ]
)


class Piece(NamedTuple):
    """Documents of D that are scored at a time: `start` to `stop` of those of the audited users in
    a shard's row group, with so many words.
    """

    shard: int
    group: int
    start: int
    stop: int
    words: int


def pieces_of(corpus: Corpus, words: int, users: IntArray | None = None) -> list[Piece]:
    """All of D, or what `users` have in it, in its order, in pieces of about so many words (at
    least one document).
    """
    found: list[Piece] = []
    documents = all_words = 0
    for shard, each in enumerate(corpus.shards):
        for group, chunk in each.groups():
            start = 0
            for piece in _of_users(chunk, users).pieces(words):
                stop = start + len(piece)
                found.append(Piece(shard, group, start, stop, len(piece.ids)))
                start = stop
            documents += len(chunk)
            all_words += len(chunk.ids)
    corpus.require_counts(None, documents, all_words)
    return found


def _of_users(documents: Documents, users: IntArray | None) -> Documents:
    """Those of some users; None: of all."""
    if users is None:
        return documents
    return documents.take(np.flatnonzero(np.isin(documents.users, users)))


@dataclass(frozen=True)
class ScoreStage:
    """The `engine` stage. `load` brings the model, reading the corpus's lexicon."""

    corpus: Path
    training: str
    """See `Corpus.training`."""
    pieces: tuple[Piece, ...]
    load: Callable[[], LanguageModel]
    top_k: int
    full: bool = False
    """Ask for every word's probability, which costs the full softmax."""
    share: float = 1.0
    """Of the documents that are scored; which, their numbers decide."""
    users: IntArray | None = None
    """Whose documents the pieces hold; None: all users'."""
    name: str = "score"
    loads_model: ClassVar[bool] = True

    def start(self) -> Work:
        """Load the model."""
        model = self.load()
        shards = Corpus.open(self.corpus).trained_on(self.training).shards
        reader = _PieceReader(shards, self.users, texts=model.needs_text)
        return lambda index, target: score_piece(
            model,
            drawn_by_number(reader.read(self.pieces[index]), self.share),
            self.top_k,
            target,
            full=self.full,
        )


class _PieceReader:
    """Reads pieces; those of one row group, one after the other, at the price of one."""

    def __init__(self, shards: list[Shard], users: IntArray | None, *, texts: bool) -> None:
        self._shards, self._users, self._texts = shards, users, texts
        self._place: tuple[int, int] | None = None
        self._group = Documents.of([])

    def read(self, piece: Piece) -> Documents:
        """The documents of a piece."""
        if self._place != (piece.shard, piece.group):
            whole = self._shards[piece.shard].group(piece.group, texts=self._texts)
            self._group = _of_users(whole, self._users)
            self._place = (piece.shard, piece.group)
        found = self._group.part(piece.start, min(piece.stop, len(self._group)))
        if len(found.ids) != piece.words:
            raise damaged(self._shards[piece.shard].path)
        return found


def drawn_by_number(documents: Documents, share: float) -> Documents:
    """About this share of the documents, each as probable as the others."""
    if share >= 1:
        return documents
    draws = scrambled(documents.numbers.astype(np.uint64)) >> np.uint64(11)
    return documents.take(np.flatnonzero(draws < share * 2.0**53))


def score_piece(
    model: LanguageModel, piece: Documents, top_k: int, target: Path, *, full: bool = False
) -> None:
    """Write the occurrences of one piece; the file's metadata has its `PieceTotals`."""
    scores = (
        model.score(piece, top_k=top_k, every_probability=full) if len(piece) else Scores.none()
    )
    near_ties = int(scores.near_tie.sum())
    log_prob = float(scores.log_prob.sum(dtype=np.float64))
    with parquet_sink(target, _SCHEMA, sealed=True) as writer:
        for some in collected(piece, scores, top_k):
            writer.write_batch(_to_arrow(some))
        totals = {"near_ties": near_ties, "log_prob": log_prob, "words": len(piece.ids)}
        writer.add_key_value_metadata({name: repr(value) for name, value in totals.items()})


class PieceTotals(NamedTuple):
    """Sums over all words of a piece, correct or not."""

    near_ties: int
    log_prob: float
    """NaN unless every word's probability was asked for."""


def totals_in(path: Path) -> PieceTotals:
    """The totals of a scored piece."""
    known = open_parquet(path).metadata.metadata
    return PieceTotals(int(known[b"near_ties"]), float(known[b"log_prob"]))


def words_in(path: Path) -> int:
    """How many words of a piece were scored."""
    return int(open_parquet(path).metadata.metadata[b"words"])


def occurrences_in(path: Path) -> int:
    """How many occurrences a scored piece has, as its footer says."""
    return int(open_parquet(path, checked=True).metadata.num_rows)


def read_occurrences(path: Path) -> Iterator[Occurrences]:
    """Stream the occurrences of one piece."""
    reader = open_parquet(path)
    for group in range(reader.num_row_groups):
        try:
            table = reader.read_row_group(group)
        except (pa.ArrowInvalid, OSError):
            raise damaged(path) from None
        yield _from_arrow(table)


def _to_arrow(found: Occurrences) -> pa.RecordBatch:
    offsets = pa.array(found.offsets, pa.int32())
    flat = (found.ids, found.rank, found.log_prob, found.top_log_prob)
    lists = [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in flat]
    plain = (found.users, found.documents, found.starts, found.copied, found.near_tie)
    return pa.record_batch([*(pa.array(column) for column in plain), *lists], schema=_SCHEMA)


def _from_arrow(table: pa.Table) -> Occurrences:
    flat = {}
    for name in ("ids", "rank", "log_prob", "top_log_prob"):
        column = table[name].combine_chunks()
        flat[name] = column.flatten().to_numpy(zero_copy_only=False)
    lengths = np.diff(table["ids"].combine_chunks().offsets.to_numpy())
    return Occurrences(
        users=table["user"].to_numpy(),
        documents=table["document"].to_numpy(),
        starts=table["start"].to_numpy(),
        copied=table["copied"].to_numpy(),
        near_tie=table["near_tie"].to_numpy(),
        offsets=offsets_of(lengths),
        **flat,
    )
