"""The first stage of a build: rows from the inputs into parts, each sorted by user."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.parts import giant_texts
from leakscope.corpus.parts.giant_texts import giants_in_turn, longest_line
from leakscope.corpus.parts.input_pieces import InputPiece
from leakscope.corpus.parts.json_blocks import json_blocks, rows_of_block
from leakscope.corpus.parts.part_files import SUFFIX, notes_of, part_sink
from leakscope.corpus.parts.python_rows import usable_rows
from leakscope.corpus.parts.row_columns import SCHEMA, ReadTally, in_hash_order
from leakscope.corpus.parts.table_columns import parquet_batches, rows_of_columns
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.readers.table import arrow_errors
from leakscope.engine.progress import Progress, tell_damaged
from leakscope.engine.stages import Work
from leakscope.records.artifacts import digest_of, is_intact
from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class ReadStage:
    """Reads pieces of inputs. A record batch of a part is sorted by the hash of the user."""

    paths: tuple[Path, ...]
    pieces: tuple[InputPiece, ...]
    how: InputSettings
    settings: BuildSettings
    run_bytes: int
    name: ClassVar[str] = "read"
    suffix: ClassVar[str] = SUFFIX

    def start(self) -> Work:
        """See `Stage`."""
        return self._read

    def _read(self, index: int, target: Path) -> None:
        piece = self.pieces[index]
        path = self.paths[piece.input]
        tally = ReadTally()
        with part_sink(target, SCHEMA) as write:
            for rows in self._rows(path, piece, tally):
                write(in_hash_order(rows, piece.input))
                del rows
            write(_nothing(), tally.note())

    def _rows(self, path: Path, piece: InputPiece, tally: ReadTally) -> Iterator[pa.RecordBatch]:
        """The usable rows of a piece, a run at a time."""
        if piece.format == "jsonl":
            most, held = longest_line(self.settings.max_characters), giant_texts.GIANT
            try:
                for block in json_blocks(path, piece.start, piece.stop, self.run_bytes, most, held):
                    with giants_in_turn(0 if block is None else len(block)):
                        first = tally.records + 1
                        yield rows_of_block(block, first, self.how, self.settings, tally)
            except FileNotFoundError:
                raise LeakscopeError(
                    f"{path} is gone: keep it while the corpus is built."
                ) from None
            return
        groups = list(range(piece.start, piece.stop))
        for batch in parquet_batches(path, groups, self.how, self.run_bytes):
            with arrow_errors(path, "Parquet"):
                rows = rows_of_columns(batch, tally.records + 1, self.how, self.settings, tally)
            del batch
            yield rows
            del rows


def _nothing() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=SCHEMA)


def read_in_turn(
    rows: Iterable[Row],
    folder: Path,
    key: str,
    settings: BuildSettings,
    run_bytes: int,
    progress: Progress,
) -> list[Path]:
    """Parts of rows that come one after the other. Those that are there and intact stay, and as
    many rows are passed over.
    """
    made: list[Path] = []
    stream, done = iter(rows), 0
    while True:
        target = part_in_turn(folder, key, len(made))
        if is_intact(target):
            tally = tally_of(target)
            deque(islice(stream, tally.records), maxlen=0)
        else:
            tell_damaged([target] if target.exists() else [], progress)
            tally = ReadTally()
            run = list(_run(stream, run_bytes))
            tally.records, tally.last = len(run), not run
            with part_sink(target, SCHEMA) as write:
                write(in_hash_order(usable_rows(run, None, settings, tally)))
                write(_nothing(), tally.note())
        made.append(target)
        done += tally.records
        progress("read", done)
        if tally.last:
            deque(stream, maxlen=0)  # to its very end, for what happens there
            return made


def whole_turn(folder: Path, key: str) -> list[Path] | None:
    """All parts of rows that come one after the other, intact; None if some are missing."""
    found: list[Path] = []
    while True:
        part = part_in_turn(folder, key, len(found))
        if not is_intact(part):
            return None
        found.append(part)
        if tally_of(part).last:
            return found


def part_in_turn(folder: Path, key: str, number: int) -> Path:
    """Where a part of rows that come one after the other is."""
    return folder / f"rows-{digest_of([key, number])}{SUFFIX}"


def _run(rows: Iterator[Row], size: int) -> Iterator[Row]:
    """So many rows that they take about `size` bytes."""
    held = 0
    for row in rows:
        yield row
        held += 2 * len(row.text or "") + len(row.user or "") + 112
        if held >= size:
            return


def tally_of(part: Path) -> ReadTally:
    """What became of the rows of a part."""
    return ReadTally.of(notes_of(part)[-1])
