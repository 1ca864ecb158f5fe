"""The second stage of a build: documents in user order, split into words, numbered and counted."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.draw_kernels import draws
from leakscope.corpus.building.user_pieces import UserPiece
from leakscope.corpus.building.word_kernels import count_words
from leakscope.corpus.building.word_table import WordTable, numbered_words
from leakscope.corpus.parts.giant_texts import giants_in_turn, is_giant
from leakscope.corpus.parts.part_files import SUFFIX, opened_part, part_sink
from leakscope.corpus.parts.ragged_kernels import gathered
from leakscope.corpus.parts.row_columns import SPLITS, UNDECIDED, flat
from leakscope.corpus.split import TRAIN
from leakscope.engine.spilled_array import SpilledArray
from leakscope.engine.stages import Work
from leakscope.records.artifacts import is_intact
from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.ragged import offsets_of

DOCUMENTS = pa.schema(
    [
        ("user", pa.int32()),
        ("user_key", pa.large_binary()),
        ("split", pa.int8()),
        ("words", pa.large_list(pa.int32())),
        ("text", pa.large_binary()),
        ("characters", pa.int64()),
        ("input", pa.int32()),
        ("row", pa.int64()),
    ]
)
"""Users are numbered from 0 in each part, and words as in the part's own lexicon."""
WORDS = pa.schema([("word", pa.large_binary()), ("count", pa.int64()), ("users", pa.int64())])


def lexicon_part(documents: Path) -> Path:
    """Where the lexicon of a part is."""
    return documents.with_name(documents.name + ".words")


def both_intact(documents: Path) -> bool:
    """Whether a part and its lexicon are there as they were written."""
    return is_intact(lexicon_part(documents)) and is_intact(documents)


Ragged = tuple[Any, LongArray]


class _Rows(NamedTuple):
    """Documents in user order; users and texts as bytes and where each begins."""

    owners: LongArray
    user: Ragged
    text: Ragged
    split: Any
    others: list[Any]
    """characters, input and row."""


@dataclass(frozen=True)
class NumberStage:
    """Works on pieces of users. Beside each part it leaves the part's lexicon."""

    parts: tuple[Path, ...]
    first_rows: tuple[int, ...]
    """What to add to the row numbers of each part."""
    pieces: tuple[UserPiece, ...]
    settings: BuildSettings
    name: ClassVar[str] = "number words"
    suffix: ClassVar[str] = SUFFIX
    reads_outputs: ClassVar[bool] = True

    def start(self) -> Work:
        """See `Stage`."""
        return self._number

    def _number(self, index: int, target: Path) -> None:
        piece = self.pieces[index]
        giant = self._giant(piece)
        with giants_in_turn(0 if giant is None else _bytes_of(giant.text)):
            self._write(piece, giant or self._in_user_order(piece), target, spills=bool(giant))

    def _write(self, piece: UserPiece, rows: _Rows, target: Path, *, spills: bool) -> None:
        held = self._held_out(rows, piece.before)
        split = np.where(rows.split == UNDECIDED, held, rows.split).astype(np.int8)
        table = WordTable()
        ids, offsets = numbered_words(
            table,
            *rows.text,
            lowercase=self.settings.lowercase,
            spill=SpilledArray(target.parent, np.int32) if spills else None,
        )
        counts, users = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
        last = np.full(len(table), -1, np.int64)
        training = split == SPLITS.index(TRAIN)
        count_words(ids, offsets, rows.owners, training, counts, users, last)
        with part_sink(lexicon_part(target), WORDS) as write:
            columns = [table.words(), pa.array(counts), pa.array(users)]
            write(pa.RecordBatch.from_arrays(columns, schema=WORDS))
        with part_sink(target, DOCUMENTS) as write:
            columns = [
                pa.array(rows.owners, pa.int32()),
                binary(*rows.user),
                pa.array(split),
                pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(ids)),
                binary(*rows.text),
                *rows.others,
            ]
            write(pa.RecordBatch.from_arrays(columns, schema=DOCUMENTS))

    def _giant(self, piece: UserPiece) -> _Rows | None:
        """The only document of a piece, if it is huge; its text stays in the part."""
        slice = piece.slices[0]
        if len(piece.slices) > 1 or slice.stop - slice.start > 1:
            return None
        with opened_part(self.parts[slice.part]) as found:
            rows = found[slice.batch][0].slice(slice.start, 1)
        text = flat(rows["text"])
        if not is_giant(_bytes_of(text)):
            return None
        row = pc.add(rows["row"], self.first_rows[slice.part])
        others = [rows["characters"], rows["input"], row]
        return _Rows(
            np.zeros(1, np.int64), flat(rows["user"]), text, rows["split"].to_numpy(), others
        )

    def _in_user_order(self, piece: UserPiece) -> _Rows:
        batches = []
        for each in piece.slices:
            with opened_part(self.parts[each.part]) as found:
                rows = found[each.batch][0].slice(each.start, each.stop - each.start)
                batches.append(_copied(rows, self.first_rows[each.part]))
                del rows, found
        rows = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
        order = _order(rows)
        user, text = (_taken(rows[name], order) for name in ("user", "text"))
        by_row = rows["hash"].to_numpy()[order]
        owners = _owners(by_row, user)
        others = [rows[name].take(pa.array(order)) for name in ("characters", "input", "row")]
        return _Rows(owners, user, text, rows["split"].to_numpy()[order], others)

    def _held_out(self, rows: _Rows, before: int) -> BoolArray:
        """Which documents are drawn for validation."""
        how = self.settings
        indices = np.full(len(rows.owners), -1, np.int64)
        if how.split_by == "document":
            starts = np.flatnonzero(np.diff(rows.owners, prepend=-1))
            indices = np.arange(len(indices)) - starts[rows.owners]
            indices[rows.owners == 0] += before
        return held_out(how.validation, how.seed, rows.user, indices)


def held_out(fraction: float, seed: int, users: Ragged, indices: LongArray) -> BoolArray:
    """`in_validation` of documents by their users' keys and their indices among these users'
    documents, which are below 0 where whole users are drawn.
    """
    # A whole number is below a fraction if it is below the next whole number.
    limit = math.ceil(fraction * 2.0**64)
    found = np.empty(len(indices), np.uint64)
    if limit:
        draws(np.frombuffer(b"%d\0" % seed, np.uint8), *users, indices, found)
    return found < np.uint64(limit) if limit else np.zeros(len(indices), np.bool_)


def _bytes_of(text: Ragged) -> int:
    return int(text[1][-1] - text[1][0])


def binary(data: Any, offsets: LongArray) -> pa.LargeBinaryArray:
    """A column of bytes, sharing memory with its two arrays."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _copied(rows: pa.RecordBatch, first_row: int) -> pa.RecordBatch:
    """The rows in memory of their own, numbered within their input."""
    columns = []
    for name in rows.schema.names:
        column = rows[name]
        if pa.types.is_large_binary(column.type):
            data, offsets = flat(column)
            low, high = int(offsets[0]), int(offsets[-1])
            columns.append(binary(data[low:high].copy(), offsets - low))
        elif name == "row":
            columns.append(pc.add(column, first_row))
        else:
            columns.append(pa.concat_arrays([column, column.slice(0, 0)]))
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _order(rows: pa.RecordBatch) -> LongArray:
    """The rows sorted by hash and user, otherwise as they are."""
    hashes = rows["hash"].to_numpy()
    order = np.argsort(hashes, kind="stable")
    coded = rows["user"].dictionary_encode()
    if len(coded.dictionary) != len(np.unique(hashes)):  # two users of one hash
        users = np.argsort(np.argsort(np.array(coded.dictionary.to_pylist(), object)))
        order = np.lexsort((users[coded.indices.to_numpy()], hashes))
    return order


def _taken(column: Any, order: LongArray) -> Ragged:
    data, offsets = flat(column)
    values, places = gathered(data, offsets[:-1][order], offsets[1:][order])
    return values, places


def _owners(hashes: Any, user: Ragged) -> LongArray:
    """[n] the number of each document's user, from 0."""
    codes = binary(*user).dictionary_encode().indices.to_numpy()
    changes = (np.diff(hashes) != 0) | (np.diff(codes) != 0)
    return offsets_of(changes)
