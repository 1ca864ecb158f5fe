"""Files as bytes and lines, plain or compressed: what all readers of text files share."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

import zstandard

from leakscope.records.errors import LeakscopeError

# Bytes of one record; what is longer is set aside, so that a file without line ends stays harmless.
MAX_RECORD = 1 << 26
# Small reads bound what one highly compressed zstd chunk can expand to.
ZSTD_CHUNK = 1 << 12
BOM = b"\xef\xbb\xbf"


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
            packed = _compression(path, file.peek(4)[:4])
            if packed == "zst":
                with io.BufferedReader(_ZstdStream(file), 1 << 16) as stream:
                    yield stream
            elif packed == "gz":
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


def compression_of(path: Path) -> Literal["gz", "zst"] | None:
    """How a file is compressed, by its name or its first bytes."""
    with path.open("rb") as file:
        return _compression(path, file.read(4))


def _compression(path: Path, head: bytes) -> Literal["gz", "zst"] | None:
    if path.suffix == ".zst" or head == zstandard.FRAME_HEADER:
        return "zst"
    return "gz" if path.suffix == ".gz" or head[:2] == b"\x1f\x8b" else None


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
