"""JSON Lines as columns: whole lines in blocks of bytes, of one range of the file at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.parts.python_rows import merged, usable_rows
from leakscope.corpus.parts.ragged_kernels import gathered
from leakscope.corpus.parts.row_columns import ReadTally, parts_named, usable
from leakscope.corpus.parts.row_kernels import UNSURE, json_lines
from leakscope.corpus.readers.byte_lines import BOM, MAX_RECORD
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import parsed
from leakscope.corpus.readers.row_values import row_of, wanted_columns
from leakscope.corpus.readers.rows import TOO_LONG, Row
from leakscope.records.documents import LongArray

_READ = 1 << 20


Block = bytes | npt.NDArray[np.uint8]


def json_blocks(
    path: Path, start: int, stop: int, size: int, most: int = MAX_RECORD, held: int = MAX_RECORD
) -> Iterator[Block | None]:
    """The lines that begin at `start` or after it, and before `stop`, in blocks of whole lines of
    about `size` bytes; a line of over `held` bytes alone, mapped; None for one of over `most`.
    """
    with path.open("rb") as file:
        at = line_start(file, start)
        while at < stop:
            block = file.read(min(size, held // 2, stop - at))
            if not block:
                return
            whole = block.rfind(b"\n") + 1
            rest = b""
            if whole < len(block):
                rest = file.readline(held + 1 - (len(block) - whole))
            giant = len(block) - whole + len(rest) > held
            lines = block[:whole] if giant else block + rest
            yield lines.removeprefix(BOM) if at == 0 else lines
            if giant:
                while rest and not rest.endswith(b"\n"):
                    rest = file.readline(_READ)
                begin, end = at + whole, file.tell()
                yield _mapped(path, begin, end) if end - begin <= most else None
            at = file.tell()


def _mapped(path: Path, begin: int, end: int) -> npt.NDArray[np.uint8]:
    """Bytes of a file, without its byte order mark."""
    found = np.asarray(np.memmap(path, np.uint8, "r", begin, (end - begin,)))
    return found[len(BOM) :] if begin == 0 and found[: len(BOM)].tobytes() == BOM else found


def line_start(file: IO[bytes], start: int) -> int:
    """Go to the first line that begins at `start` or after it."""
    if start:
        file.seek(start - 1)
        while (line := file.readline(_READ)) and not line.endswith(b"\n"):
            pass
    return file.tell()


def rows_of_block(
    block: Block | None,
    first: int,
    how: InputSettings,
    settings: BuildSettings,
    tally: ReadTally,
) -> pa.RecordBatch:
    """The usable rows of a block, numbered from `first` on."""
    if block is None:
        tally.records += 1
        row = Row(None, None, TOO_LONG)
        return usable_rows([row], np.array([first]), settings, tally)
    columns = wanted_columns(how)
    names = tuple(np.frombuffer(name.encode(), np.uint8) for name in columns)
    data = np.frombuffer(block, np.uint8)
    most = block.count(b"\n") + 1 if isinstance(block, bytes) else 1
    into = np.empty(len(block), np.uint8)
    places = np.empty((most, len(names), 2), np.int64)
    lines = np.empty((most, 2), np.int64)
    count = json_lines(data, names, into, places, lines)
    tally.records += count
    numbers = np.arange(first, first + count)
    unsure = places[:count, 0, 0] == UNSURE
    sure = np.flatnonzero(~unsure)
    found = [_column(into, places[sure, place]) for place in range(len(names))]
    parts = parts_named(found[2], "utf-8") if len(found) > 2 else None
    fast = usable(found[0], found[1], parts, numbers[sure], settings.max_characters, tally)
    left = np.flatnonzero(unsure)
    rows = [_row(bytes(block[a:b]), columns) for a, b in lines[left].tolist()]
    return merged(fast, usable_rows(rows, numbers[left], settings, tally))


def _row(line: bytes, columns: list[str]) -> Row:
    record = parsed(line)
    return record if isinstance(record, Row) else row_of(*(record.get(name) for name in columns))


def _column(data: Any, places: LongArray) -> Any:
    """The values at these places, which are below 0 for null, as a large binary column."""
    null = places[:, 0] < 0
    starts, ends = places[:, 0] * ~null, places[:, 1] * ~null
    if len(places) == 1:  # it may be huge, and is in one piece already
        values, offsets = data[starts[0] : ends[0]], np.array([0, ends[0] - starts[0]])
    else:
        values, offsets = gathered(data, starts, ends)
    valid = pa.array(~null).buffers()[1] if null.any() else None
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(places), buffers)
