"""JSON Lines, plain or compressed; also the byte stream and the row checks that readers share."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, cast
from uuid import UUID

import zstandard

from leakscope.corpus.readers.rows import INVALID_UTF8, MALFORMED, TOO_LONG, Columns, Row
from leakscope.records.errors import LeakscopeError

# Bytes of one record; what is longer is set aside, so that a file without line ends stays harmless.
MAX_RECORD = 1 << 26
_NAMES = frozenset(
    ("user", "text", "author", "body", "id", "name", "nick", "date", "message", "content")
)
# Small reads bound what one highly compressed zstd chunk can expand to.
ZSTD_CHUNK = 1 << 12
BOM = b"\xef\xbb\xbf"


def read_jsonl(path: Path, columns: Columns) -> Iterator[Row]:
    """Yield a row for each line of a JSONL file (.gz and .zst too); blank lines are skipped."""
    first = True
    for record in objects(path):
        if isinstance(record, Row):
            yield record
            continue
        if first:
            require_columns(path, list(record), columns)
            first = False
        yield row_of(record.get(columns.user), record.get(columns.text))


def objects(path: Path) -> Generator[dict[str, Any] | Row, None, None]:
    """Yield the JSON object of each line, or the row that says why a line holds none."""
    for line in lines(path):
        if line is None:
            yield Row(None, None, TOO_LONG)
        elif line.strip():
            yield _parse(line)


def lines(path: Path) -> Iterator[bytes | None]:
    """Yield each line of a file without its byte order mark; None for one over MAX_RECORD bytes."""
    with open_bytes(path) as stream:
        start = True
        while line := stream.readline(MAX_RECORD):
            if start:
                line, start = line.removeprefix(BOM), False
            if len(line) == MAX_RECORD and not line.endswith(b"\n"):
                rest = stream.readline(MAX_RECORD)
                yield None if rest else line
                while rest and not rest.endswith(b"\n"):
                    rest = stream.readline(MAX_RECORD)
            else:
                yield line


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that may be gzip or zstd; damage and refusals become a LeakscopeError."""
    try:
        with path.open("rb") as file:
            head = file.peek(4)[:4]
            if path.suffix == ".zst" or head == zstandard.FRAME_HEADER:
                with io.BufferedReader(_ZstdStream(file), 1 << 16) as stream:
                    yield stream
            elif path.suffix == ".gz" or head[:2] == b"\x1f\x8b":
                with gzip.GzipFile(fileobj=file) as unzipped:
                    yield cast(IO[bytes], unzipped)
            else:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        raise LeakscopeError(
            f"{path} is damaged or cut short and cannot be decompressed: copy it again."
        ) from error
    except OSError as error:
        reason = error.strerror or "input error"
        raise LeakscopeError(f"{path} cannot be read ({reason}): name a readable file.") from error


def require_columns(path: Path, present: Sequence[str], columns: Columns) -> None:
    """Raise unless both columns are there exactly once; the message names those that are there."""
    for column in (columns.user, columns.text):
        if present.count(column) > 1:
            raise LeakscopeError(f'{path} has several columns "{column}": rename all but one.')
        if column not in present:
            # A table without a header has text where names should be, so names are shown only if
            # one of them proves that they are names.
            proven = _NAMES & {name.lower() for name in present}
            names = [n for n in present if proven and re.fullmatch(r"[\w.-]{1,40}", n)][:20]
            hidden = f"{len(present) - len(names)} not shown"
            there = ", ".join(names + [hidden] * (len(names) < len(present))) or "none"
            raise LeakscopeError(
                f'{path} has no column "{column}" but {there}: name the right one by '
                "--user-column or --text-column."
            )


def row_of(user: object, text: object) -> Row:
    """Make a row of two raw values: numbers become user names, NaN is a null user."""
    try:
        user, text = _strict(user), _strict(text)
    except UnicodeError:
        return Row(None, None, INVALID_UTF8)
    if isinstance(user, float) and user.is_integer():
        user = int(user)  # 1 and 1.0 are the same user
    if isinstance(user, int | float | Decimal | UUID):
        user = None if str(user).lower() == "nan" else str(user)
    if not isinstance(user, str | None) or not isinstance(text, str | None):
        return Row(None, None, MALFORMED)
    return Row(user, text)


def _strict(value: object) -> object:
    """Decode bytes as UTF-8 and refuse strings with lone surrogates; leave the rest as it is."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        value.encode()
    return value


def _parse(line: bytes) -> dict[str, Any] | Row:
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError:
        return Row(None, None, INVALID_UTF8)
    except (ValueError, RecursionError):  # not JSON, a number of too many digits, nested too deep
        return Row(None, None, MALFORMED)
    return value if isinstance(value, dict) else Row(None, None, MALFORMED)


class _ZstdStream(io.RawIOBase):
    """All frames of a zstd file as one stream; unlike zstandard's own, it notices a cut file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._chunks = _decompress(file)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Say that this stream is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with what is at hand; 0 at the end."""
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _decompress(file: IO[bytes]) -> Iterator[bytes]:
    # Reddit dumps are written with --long=31.
    decompressor = zstandard.ZstdDecompressor(max_window_size=2**31)
    frame = None
    while data := file.read(ZSTD_CHUNK):
        while data:
            frame = frame or decompressor.decompressobj()
            yield frame.decompress(data)
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("zstd frame without an end")
