"""How artifacts reach the disk: private to their owner, whole or not at all, with digests."""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from leakscope.records.errors import LeakscopeError

Model = TypeVar("Model", bound=BaseModel)
_PARTIAL = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.leakscope", re.DOTALL)


def private_directory(path: Path) -> Path:
    """Make `path` (and its parents) if need be, readable by its owner only."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def already(path: Path) -> LeakscopeError:
    """The error for an output that would overwrite something."""
    return LeakscopeError(f"{path} already exists; choose another --out or remove it first.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` when the block ends well, 0600."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.leakscope")
    partial.touch(mode=0o600, exist_ok=False)
    try:
        yield partial
        partial.chmod(0o600)
        with partial.open("rb") as handle:
            os.fsync(handle.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def is_partial(path: Path) -> bool:
    """Whether `path` is a file that `whole_file` had begun, by its name."""
    return _PARTIAL.fullmatch(path.name) is not None and path.is_file()


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: BaseModel | dict[str, Any]) -> None:
    """Write a record as indented JSON; NaN and infinity are refused."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    write_text(path, json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path, model: type[Model], what: str) -> Model:
    """Read the record `model` from `path`; `what` names the artifact in the error."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise LeakscopeError(f"{path.parent} is not {what}: it has no {path.name}.") from None
    except (ValidationError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"msg": "not UTF-8"}
        where = ".".join(str(part) for part in first.get("loc", ())) or "the file"
        raise LeakscopeError(
            f"{path} cannot be read as {what} of this version: {where}: {first['msg']}."
        ) from None


@contextmanager
def parquet_sink(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer with page checksums whose file appears only when it is complete."""
    with (
        whole_file(path) as partial,
        pq.ParquetWriter(partial, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield writer


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write one table in a piece."""
    with parquet_sink(path, table.schema) as writer:
        writer.write_table(table)


_UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)
"""What pyarrow raises on a damaged footer or page."""


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a Parquet file of ours, memory-mapped, its pages checked against their checksums."""
    try:
        return pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
    except FileNotFoundError:
        raise LeakscopeError(f"{path} is missing; make the artifact again.") from None
    except _UNREADABLE:
        raise damaged(path) from None


def damaged(path: Path) -> LeakscopeError:
    """The error for a file that is cut short or fails its checksums."""
    return LeakscopeError(f"{path} is truncated or damaged; make the artifact again.")


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a whole Parquet file of ours."""
    try:
        return open_parquet(path).read(columns=columns)
    except _UNREADABLE:
        raise damaged(path) from None


def digest_of(value: Any) -> str:
    """A hexadecimal digest of plain data, the same for equal JSON."""
    plain = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()


def digest_of_file(path: Path) -> str:
    """A hexadecimal digest of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
